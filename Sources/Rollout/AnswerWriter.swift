package import JSON

extension ComparableAnswer {
    /// The maximum number of labels, boxes or numbers written.
    private static let maximum = 20
    /// The maximum number of characters of a text that are written.
    private static let maximumText = 2_000

    /// Writes the answer as an object, in the format of routes, with at most 20 labels, boxes or numbers, or 2,000
    /// characters of a text. Masks and
    /// long vectors are not written: they are needed only to compare.
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .classes(let labels):
                Self.list("classifications", labels, to: &writer) { writer, label in
                    writer.member("index", label.index)
                    writer.member("label", label.label)
                    writer.member("confidence", label.confidence)
                }
            case .boxes(let boxes, _):
                Self.list("detections", boxes, to: &writer) { writer, box in
                    writer.member("label", box.label)
                    writer.member("confidence", box.confidence)
                    writer.key("box")
                    writer.object { writer in
                        writer.member("x", box.x)
                        writer.member("y", box.y)
                        writer.member("width", box.width)
                        writer.member("height", box.height)
                    }
                    if let corners = box.corners { Self.write(corners, to: &writer) }
                }
            case .segments(let segments):
                Self.list("segments", segments, to: &writer) { writer, segment in
                    writer.member("label", segment.label)
                    writer.member("area", segment.mask.area)
                }
            case .points(let points, _):
                Self.list("keypoints", points, to: &writer) { writer, point in
                    guard let place = point.place else { return }
                    writer.member("x", place.x)
                    writer.member("y", place.y)
                }
            case .embedding(let values): writer.member("dimension", values.count)
            case .text(let text):
                let shown = String(text.prefix(Self.maximumText))
                writer.member("text", shown)
                if shown != text { writer.member("characters", text.unicodeScalars.count) }
            case .values(let values):
                writer.key("outputs")
                writer.object { writer in
                    for (name, value) in values.sorted(by: { $0.key < $1.key }).prefix(Self.maximum) {
                        writer.key(name)
                        value.write(to: &writer)
                    }
                }
            case .failure(let code, let message):
                writer.member("error", message)
                writer.member("code", code)
            }
        }
    }

    private static func write(_ corners: [NamedPoint.Place], to writer: inout JSONWriter) {
        writer.key("points")
        writer.array { writer in
            for corner in corners {
                writer.object { writer in
                    writer.member("x", corner.x)
                    writer.member("y", corner.y)
                }
            }
        }
    }

    private static func list<Entry>(
        _ name: String, _ entries: [Entry], to writer: inout JSONWriter, _ write: (inout JSONWriter, Entry) -> Void
    ) {
        writer.key(name)
        writer.array { writer in
            for entry in entries.prefix(maximum) { writer.object { writer in write(&writer, entry) } }
        }
        if entries.count > maximum { writer.member("count", entries.count) }
    }
}

extension ComparableAnswer.OutputValue {
    fileprivate func write(to writer: inout JSONWriter) {
        switch self {
        case .number(let value): writer.number(value)
        case .text(let text): writer.string(String(text.prefix(60)))
        case .labels(let labels):
            writer.object { writer in
                for (name, value) in labels.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }).prefix(5) {
                    writer.member(name, value)
                }
            }
        case .array(let shape, _):
            writer.object { writer in
                writer.key("shape")
                writer.array { writer in for extent in shape { writer.integer(extent) } }
            }
        }
    }
}

/// An answer to one picture in a form that can be compared, from a model or from a line of a file.
package enum ComparableAnswer: Sendable, Hashable {
    /// Classes with their confidences, the best first.
    case classes([ScoredLabel])
    /// Detections, in pixels of the displayed picture; `side` is its longer side.
    case boxes([FoundBox], side: Double)
    /// The classes of a mask, each with its pixels.
    case segments([Segment])
    /// The points of one set, in pixels of the displayed picture; `side` is the picture's longer side. Missing points
    /// have no position.
    case points([NamedPoint], side: Double)
    case embedding([Float])
    /// The text of a picture, in reading order.
    case text(String)
    /// The outputs of a prediction, by name.
    case values([String: OutputValue])
    /// The model returned an error instead of an answer.
    case failure(code: String, message: String)

    package struct ScoredLabel: Sendable, Hashable {
        package let index: Int
        package let label: String
        package let confidence: Double

        package init(index: Int, label: String, confidence: Double) {
            self.index = index
            self.label = label
            self.confidence = confidence
        }

        /// The name to compare: the label, or the index of a class without a label.
        package var name: String { label.isEmpty ? "\(index)" : label }
    }

    /// A box with its mask and points, if any.
    package struct FoundBox: Sendable, Hashable {
        package var label: String
        package var confidence: Double
        package var x: Double, y: Double, width: Double, height: Double
        package var mask: RunMask?
        package var points: [NamedPoint]?
        /// The corners of a turned box, in order around it; nil for an upright box.
        package var corners: [NamedPoint.Place]?

        package init(label: String, confidence: Double, x: Double, y: Double, width: Double, height: Double) {
            self.label = label
            self.confidence = confidence
            self.x = x
            self.y = y
            self.width = width
            self.height = height
        }
    }

    package struct Segment: Sendable, Hashable {
        package let label: String
        package let mask: RunMask

        package init(label: String, mask: RunMask) {
            self.label = label
            self.mask = mask
        }
    }

    /// A point; its position is nil if it was not found.
    package struct NamedPoint: Sendable, Hashable {
        package let place: Place?

        package struct Place: Sendable, Hashable {
            package let x: Double, y: Double

            package init(x: Double, y: Double) { (self.x, self.y) = (x, y) }
        }

        package init(x: Double, y: Double) { place = Place(x: x, y: y) }
        package init() { place = nil }
    }

    package enum OutputValue: Sendable, Hashable {
        case number(Double)
        case text(String)
        /// Labels with their values.
        case labels([String: Double])
        case array(shape: [Int], [Double])
    }

    /// The name of the type, for messages.
    package var kind: String {
        switch self {
        case .classes: "classes"
        case .boxes: "boxes"
        case .segments: "a mask"
        case .points: "points"
        case .embedding: "an embedding"
        case .text: "text"
        case .values: "values"
        case .failure(let code, _): "the error \(code)"
        }
    }
}

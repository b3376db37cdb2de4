package import JSON

/// Reads an answer in the format of routes and of `--jsonl`: `{"file", …, "classifications": […], "image": {…}}`.
package struct AnswerReader: Sendable {
    /// The reason an answer cannot be compared. The text follows the location in a message.
    package struct Problem: Error, Sendable, Hashable {
        package let reason: String
        package init(_ reason: String) { self.reason = reason }
    }

    /// Reads a mask from a PNG of class numbers: returns the pixels of each class.
    package let readMask: @Sendable (_ png: [UInt8]) throws(Problem) -> [Int: RunMask]

    /// - Parameter readMask: reads masks from PNG; the default refuses them.
    package init(
        readMask: @escaping @Sendable (_ png: [UInt8]) throws(Problem) -> [Int: RunMask] = { (_) throws(Problem) in
            throw Problem("has a mask as a PNG, which cannot be compared here")
        }
    ) {
        self.readMask = readMask
    }

    package func answer(_ value: JSONValue) throws(Problem) -> ComparableAnswer {
        guard case .object(let members) = value else { throw Problem("expected an object, found \(value.kind)") }
        if case .string(let message)? = members["error"] {
            return .failure(code: Self.text(members["code"]) ?? "", message: message)
        }
        if let entries = members["classifications"] {
            return .classes(
                try list(entries, "classifications").map { (entry) throws(Problem) in
                    try ComparableAnswer.ScoredLabel(
                        index: Int(exactly: number(entry, "index")) ?? 0, label: text(entry, "label"),
                        confidence: number(entry, "confidence"))
                })
        }
        if let entries = members["detections"] {
            let boxes = try list(entries, "detections").map { (entry) throws(Problem) in try box(entry) }
            return .boxes(boxes, side: try side(members))
        }
        if let entries = members["segments"] {
            return .segments(try segments(list(entries, "segments"), members["mask"]))
        }
        if let entries = members["keypoints"] {
            return .points(try points(entries), side: try side(members))
        }
        if let embedding = members["embedding"] { return .embedding(try vector(embedding)) }
        if members["lines"] != nil { return .text(try text(members, "text")) }
        if case .object(let outputs)? = members["outputs"] {
            var values: [String: ComparableAnswer.OutputValue] = [:]
            for (name, value) in outputs { values[name] = try output(value, name) }
            return .values(values)
        }
        throw Problem(
            "has no answer: expected \"classifications\", \"detections\", \"segments\", \"keypoints\", \"embedding\", "
                + "\"lines\" with \"text\", \"outputs\" or \"error\"")
    }

    // MARK: Parts

    private func box(_ entry: [String: JSONValue]) throws(Problem) -> ComparableAnswer.FoundBox {
        guard case .object(let place)? = entry["box"] else { throw Problem("a detection has no \"box\"") }
        var box = ComparableAnswer.FoundBox(
            label: try text(entry, "label"), confidence: try number(entry, "confidence"),
            x: try number(place, "x"), y: try number(place, "y"),
            width: try number(place, "width"), height: try number(place, "height"))
        if let mask = entry["mask"] { box.mask = try runs(mask) }
        if let points = entry["keypoints"] { box.points = try self.points(points) }
        if let corners = entry["points"] {
            let places = try points(corners).compactMap(\.place)
            guard places.count == 4 else { throw Problem("\"points\" of a detection are not four corners") }
            box.corners = places
        }
        return box
    }

    private func runs(_ value: JSONValue) throws(Problem) -> RunMask {
        guard case .object(let members) = value, case .array(let size)? = members["size"], size.count == 2,
            case .integer(let height) = size[0], case .integer(let width) = size[1],
            case .string(let counts)? = members["counts"],
            let mask = RunMask(width: width, height: height, compressed: counts)
        else { throw Problem("a mask is not of the form {\"size\": [height, width], \"counts\": \"…\"}") }
        return mask
    }

    private func segments(
        _ entries: [[String: JSONValue]], _ mask: JSONValue?
    ) throws(Problem) -> [ComparableAnswer.Segment] {
        var maps: [Int: RunMask] = [:]
        if case .object(let members)? = mask, case .string(let text)? = members["b64"] {
            maps = try readMask(try Self.base64(text))
        }
        return try entries.map { (entry) throws(Problem) in
            let label = try text(entry, "label")
            if let mask = entry["mask"] { return ComparableAnswer.Segment(label: label, mask: try runs(mask)) }
            guard let index = Int(exactly: try number(entry, "index")), let mask = maps[index] else {
                throw Problem("segment \"\(label)\" has no mask: neither run lengths nor pixels of the PNG in \"mask\"")
            }
            return ComparableAnswer.Segment(label: label, mask: mask)
        }
    }

    private static func base64(_ text: String) throws(Problem) -> [UInt8] {
        guard let bytes = Array(text.utf8).withUnsafeBytes({ Base64.decode($0) }) else {
            throw Problem("\"b64\" is not base64")
        }
        return bytes
    }

    private func points(_ value: JSONValue) throws(Problem) -> [ComparableAnswer.NamedPoint] {
        guard case .array(let entries) = value else { throw Problem("\"keypoints\" is not an array") }
        return try entries.map { (entry) throws(Problem) in
            switch entry {
            case .null: ComparableAnswer.NamedPoint()
            case .object(let members):
                ComparableAnswer.NamedPoint(x: try number(members, "x"), y: try number(members, "y"))
            default: throw Problem("a keypoint is neither an object nor null")
            }
        }
    }

    private func vector(_ value: JSONValue) throws(Problem) -> [Float] {
        guard case .array(let entries) = value else { throw Problem("\"embedding\" is not an array of numbers") }
        return try entries.map { (entry) throws(Problem) in
            guard let number = Self.number(entry) else { throw Problem("\"embedding\" has \(entry.kind)") }
            return Float(number)
        }
    }

    private func output(_ value: JSONValue, _ name: String) throws(Problem) -> ComparableAnswer.OutputValue {
        if let number = Self.number(value) { return .number(number) }
        switch value {
        case .string(let text): return .text(text)
        case .object(let members):
            var labels: [String: Double] = [:]
            for (label, value) in members {
                guard let number = Self.number(value) else {
                    throw Problem("output \"\(name)\" cannot be compared: \"\(label)\" is \(value.kind)")
                }
                labels[label] = number
            }
            return .labels(labels)
        case .array:
            var shape: [Int] = [], numbers: [Double] = []
            try flatten(value, name, 0, &shape, &numbers)
            return .array(shape: shape, numbers)
        default: throw Problem("output \"\(name)\" cannot be compared: it is \(value.kind)")
        }
    }

    private func flatten(
        _ value: JSONValue, _ name: String, _ depth: Int, _ shape: inout [Int], _ numbers: inout [Double]
    ) throws(Problem) {
        guard case .array(let entries) = value else {
            guard depth == shape.count, let number = Self.number(value) else {
                throw Problem("output \"\(name)\" is not an array of numbers")
            }
            return numbers.append(number)
        }
        if depth == shape.count, numbers.isEmpty { shape.append(entries.count) }
        guard depth < shape.count, shape[depth] == entries.count else {
            throw Problem("output \"\(name)\" has rows of different lengths")
        }
        for entry in entries { try flatten(entry, name, depth + 1, &shape, &numbers) }
    }

    // MARK: Members

    /// The longer side of the picture as it is displayed.
    private func side(_ members: [String: JSONValue]) throws(Problem) -> Double {
        guard case .object(let image)? = members["image"] else { throw Problem("has no \"image\" with its size") }
        var size = image
        if case .object(let displayed)? = image["displayed"] { size = displayed }
        let side = max(try number(size, "width"), try number(size, "height"))
        guard side > 0 else { throw Problem("has a picture without pixels") }
        return side
    }

    private func list(_ value: JSONValue, _ name: String) throws(Problem) -> [[String: JSONValue]] {
        guard case .array(let entries) = value else { throw Problem("\"\(name)\" is not an array") }
        return try entries.map { (entry) throws(Problem) in
            guard case .object(let members) = entry else { throw Problem("\"\(name)\" has \(entry.kind)") }
            return members
        }
    }

    private func number(_ members: [String: JSONValue], _ name: String) throws(Problem) -> Double {
        guard let value = members[name].flatMap(Self.number) else {
            throw Problem("expected a number in \"\(name)\", found \(members[name]?.kind ?? "nothing")")
        }
        return value
    }

    private func text(_ members: [String: JSONValue], _ name: String) throws(Problem) -> String {
        guard let value = Self.text(members[name]) else {
            throw Problem("expected text in \"\(name)\", found \(members[name]?.kind ?? "nothing")")
        }
        return value
    }

    /// A number; unlike `JSONValue.finite`, NaN and infinities of JSON5 too, which answers may have.
    private static func number(_ value: JSONValue) -> Double? {
        switch value {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    private static func text(_ value: JSONValue?) -> String? {
        if case .string(let text)? = value { text } else { nil }
    }
}

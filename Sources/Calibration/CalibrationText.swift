internal import JSON

/// The text of `calibration.json`.
extension ClassifierCalibration {
    /// The name of the file, in the folder of model.json.
    package static let fileName = "calibration.json"
    /// The maximum size of the file in bytes.
    package static let largestFile = 32 << 20

    private static let format = 1
    private static let members = ["format", "model", "pictures", "temperature", "scores"]
    /// The maximum number of mistakes that are listed.
    private static let maximumMistakes = 10

    /// Mistakes in the text, each with its place.
    package struct Mistakes: Error, Sendable, Hashable {
        /// Sentences such as `"temperature": expected a number from 0.05 to 100, found "high"`.
        package let list: [String]
    }

    /// The text of the file.
    package var text: [UInt8] {
        var writer = JSONWriter(capacity: 256 + 22 * scores.count)
        writer.object { writer in
            writer.member("format", Self.format)
            writer.member("model", model)
            writer.member("pictures", scores.count)
            writer.member("temperature", temperature)
            writer.key("scores")
            writer.array { writer in for score in scores { writer.number(score) } }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    /// Reads the text of the file.
    /// - Throws: the mistakes.
    package init(text: [UInt8]) throws(Mistakes) {
        guard text.count <= Self.largestFile else {
            throw Mistakes(list: ["has \(text.count) bytes: expected at most \(Self.largestFile)"])
        }
        let tree: JSONTree
        do throws(JSONTextError) {
            tree = try JSONTree.read(text, .json)
        } catch {
            throw Mistakes(list: ["is not valid JSON: \(error.reason)"])
        }
        if let repeated = tree.repeatedName { throw Mistakes(list: [repeated]) }
        guard case .object(let members) = tree.value else {
            throw Mistakes(list: ["expected an object, found \(tree.value.kind)"])
        }
        var reader = Reader(members: members)
        guard reader.format() else { throw Mistakes(list: reader.mistakes) }
        let model = reader.model(), temperature = reader.temperature(), scores = reader.scores()
        reader.refuseOthers()
        guard reader.mistakes.isEmpty, let model, let temperature, let scores,
            let calibration = Self(model: model, temperature: temperature, scores: scores)
        else { throw Mistakes(list: Array(reader.mistakes.prefix(Self.maximumMistakes))) }
        self = calibration
    }

    /// Reads the members; each mistake is noted.
    private struct Reader {
        let members: [String: JSONValue]
        private(set) var mistakes: [String] = []

        init(members: [String: JSONValue]) { self.members = members }

        private mutating func note(_ name: String, expected: String, found value: JSONValue?) {
            mistakes.append("\"\(name)\": " + (value.map { "expected \(expected), found \($0.kind)" } ?? "is missing"))
        }

        /// False if the file has another format: its members may have other meanings.
        mutating func format() -> Bool {
            if case .integer(ClassifierCalibration.format)? = members["format"] { return true }
            note(
                "format", expected: "\(ClassifierCalibration.format), the only one that this version of Ocelli reads",
                found: members["format"])
            return false
        }

        mutating func model() -> String? {
            let digits = 64, prefix = "sha256:"
            if case .string(let text)? = members["model"], text.hasPrefix(prefix),
                text.utf8.count == prefix.utf8.count + digits,
                text.utf8.dropFirst(prefix.utf8.count).allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
            {
                return text
            }
            note("model", expected: "\"sha256:\" and 64 hexadecimal digits in lower case", found: members["model"])
            return nil
        }

        mutating func temperature() -> Double? {
            let range = Temperature.range
            if let number = members["temperature"]?.finite, range.contains(number) { return number }
            note(
                "temperature", expected: "a number from \(range.lowerBound) to \(range.upperBound)",
                found: members["temperature"])
            return nil
        }

        mutating func scores() -> [Double]? {
            let most = ClassifierCalibration.maximumPictures
            guard case .array(let values)? = members["scores"], (1...most).contains(values.count) else {
                note("scores", expected: "an array of 1 to \(most) numbers", found: members["scores"])
                return nil
            }
            if members["pictures"] != .integer(values.count) {
                note("pictures", expected: "the number of scores, \(values.count)", found: members["pictures"])
            }
            var scores: [Double] = []
            scores.reserveCapacity(values.count)
            for (index, value) in values.enumerated() {
                guard let score = value.finite, (0...1).contains(score) else {
                    note("scores[\(index)]", expected: "a number from 0 to 1", found: value)
                    return nil
                }
                guard scores.last.map({ $0 <= score }) ?? true else {
                    note("scores[\(index)]", expected: "at least the number before it", found: value)
                    return nil
                }
                scores.append(score)
            }
            return scores
        }

        mutating func refuseOthers() {
            for name in members.keys.sorted() where !ClassifierCalibration.members.contains(name) {
                mistakes.append(
                    "\"\(name.prefix(60))\": unknown; known are \(ClassifierCalibration.members.joined(separator: ", "))"
                )
            }
        }
    }
}

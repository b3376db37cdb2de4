internal import JSON

/// Reads the parts `truncation` and `padding` of a file.
enum LengthsReader {
    private enum Direction: String, CaseIterable {
        case left = "Left", right = "Right"
    }

    private enum Strategy: String, CaseIterable {
        case longestFirst = "LongestFirst", onlyFirst = "OnlyFirst"
    }

    /// - Parameter added: the number of tokens around each text.
    static func truncation(_ part: PartMembers, added: Int) throws(TokenizerProblem) -> Truncation {
        let length = try part.integer("max_length", 0...Int.max)
        let direction: Direction = try part.choice("direction", standard: .right)
        let _: Strategy = try part.choice("strategy")
        guard length >= added else {
            throw part.problem("max_length", "expected at least \(added), the added tokens, found \(length)")
        }
        // Texts that are left out could be read in further parts, which overlap. Only the first part is used here, but
        // a stride without end is a mistake of the file.
        let stride = try part.integer("stride", 0...Int.max)
        guard stride == 0 || stride < length - added else {
            throw part.problem("stride", "expected less than \(length - added), found \(stride)")
        }
        return Truncation(maximumLength: length, isLeft: direction == .left)
    }

    static func padding(_ part: PartMembers) throws(TokenizerProblem) -> Padding {
        let lengths = 0...Padding.maximumLength
        var length: Int?
        if case .string(let name) = part.optional("strategy") {
            guard name == "BatchLongest" else {
                throw part.problem(
                    "strategy", "expected \"BatchLongest\" or {\"Fixed\": …}, found \"\(name.prefix(40))\"")
            }
        } else {
            length = try part.object("strategy").integer("Fixed", lengths)
        }
        let direction: Direction = try part.choice("direction")
        return Padding(
            length: length,
            multiple: part.optional("pad_to_multiple_of") == nil ? 1 : try part.integer("pad_to_multiple_of", lengths),
            isLeft: direction == .left, id: try part.id("pad_id"), typeID: try part.id("pad_type_id"))
    }
}

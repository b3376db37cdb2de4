internal import JSON

/// Reads the part `post_processor` of a file, for single texts.
enum PostProcessorReader {
    /// The maximum number of tokens around a text.
    private static let maximumTokens = 1_000
    private static let types = ["BertProcessing", "ByteLevel", "RobertaProcessing", "Sequence", "TemplateProcessing"]

    static func read(_ part: PartMembers) throws(TokenizerProblem) -> PostProcessor {
        switch try part.string("type") {
        // Only offsets are changed.
        case "ByteLevel": return .none
        case "BertProcessing", "RobertaProcessing":
            let first = try token("cls", part), last = try token("sep", part)
            return PostProcessor(parts: [
                .special(.init(ids: [first], typeID: 0)), .text(typeID: 0), .special(.init(ids: [last], typeID: 0)),
            ])
        case "Sequence":
            var result = PostProcessor.none
            for step in try part.objects("processors") {
                let next = try read(step)
                if next.parts.count == 1, case .text(0) = next.parts[0] { continue }
                guard result.parts.count == 1 else {
                    throw TokenizerProblem.unsupported(
                        "\(step.path): a second step that adds tokens is not supported; supported is one")
                }
                result = next
            }
            return result
        case "TemplateProcessing": return try template(part)
        default: throw try part.unsupportedType(types)
        }
    }

    /// The id of `["text", id]`.
    private static func token(_ key: String, _ part: PartMembers) throws(TokenizerProblem) -> UInt32 {
        let values = try part.array(key)
        guard values.count == 2, case .integer(let id) = values[1], (0...Int(TokenTable.maximumID)).contains(id) else {
            throw part.problem(key, "expected a token and its id, found \(JSONValue.array(values).kind)")
        }
        return UInt32(id)
    }

    private static func template(_ part: PartMembers) throws(TokenizerProblem) -> PostProcessor {
        var parts: [PostProcessor.Part] = [], count = 0
        for piece in try part.objects("single") {
            if piece.optional("Sequence") != nil {
                let sequence = try piece.object("Sequence"), name = try sequence.string("id")
                guard name == "A" else { throw sequence.problem("id", "expected \"A\", found \"\(name.prefix(40))\"") }
                parts.append(.text(typeID: try sequence.id("type_id")))
                count += 1
                continue
            }
            let special = try piece.object("SpecialToken"), name = try special.string("id")
            let tokens = try part.object("special_tokens").object(name)
            var ids: [UInt32] = []
            for value in try tokens.array("ids") {
                guard case .integer(let id) = value, (0...Int(TokenTable.maximumID)).contains(id) else {
                    throw tokens.problem("ids", "expected ids, found \(value.kind)")
                }
                ids.append(UInt32(id))
            }
            parts.append(.special(.init(ids: ids, typeID: try special.id("type_id"))))
            count += ids.count
        }
        guard count <= maximumTokens else {
            throw part.problem("single", "expected at most \(maximumTokens) tokens, found \(count)")
        }
        return PostProcessor(parts: parts)
    }
}

internal import JSON

/// The members of `tokenizer_config.json` and `special_tokens_map.json` that affect the ids of a model: its maximum
/// length, and the token that fills texts up.
package struct TokenizerConfiguration: Sendable, Hashable {
    /// Lengths from here on mean that the model has no maximum.
    private static let endlessLength = 1e6

    /// `model_max_length`; nil if it is missing or stands for any length.
    package let maximumLength: Int?
    /// `pad_token`; nil if it is missing.
    package let paddingToken: String?

    /// Reads one of the two files.
    package init(json: [UInt8]) throws(TokenizerProblem) {
        let value: JSONValue
        do throws(JSONTextError) {
            value = try JSONTree.read(json, .json).value
        } catch {
            throw .malformed("the file is not valid JSON: \(error.reason)")
        }
        guard case .object(let members) = value else { throw .malformed("expected an object, found \(value.kind)") }
        maximumLength = try Self.length(members["model_max_length"] ?? .null)
        paddingToken = try Self.token(members["pad_token"] ?? .null)
    }

    private static func length(_ value: JSONValue) throws(TokenizerProblem) -> Int? {
        if value == .null { return nil }
        guard let length = value.finite, length >= 1 else {
            throw .malformed("model_max_length: expected a number of 1 or more, found \(value.kind)")
        }
        return length < endlessLength ? Int(length) : nil
    }

    /// A token as a string, or as an object with its content.
    private static func token(_ value: JSONValue) throws(TokenizerProblem) -> String? {
        switch value {
        case .null: return nil
        case .string(let token): return token
        case .object(let members):
            if case .string(let token) = members["content"] { return token }
        default: break
        }
        throw .malformed("pad_token: expected a token, found \(value.kind)")
    }
}

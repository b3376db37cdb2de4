package import EngineAPI

/// The inputs that the text side of a model takes, and the output that holds the vectors.
package struct TextForm: Sendable {
    /// The values of an input.
    package enum Role: Sendable, Hashable {
        case ids
        /// 1 for tokens, 0 for padding.
        case mask
        /// The types of the parts of a text: 0 for a single text.
        case types
        /// The positions, from 0.
        case positions
    }

    package struct Input: Sendable, Hashable {
        package let name: String
        package let role: Role
        package let elementType: ElementType
    }

    package let inputs: [Input]
    /// The index of the output, and whether it has one vector for each text; otherwise one for each token.
    package let output: Int
    package let isPooled: Bool
    /// The length of all texts; nil if each may have its own.
    package let fixedLength: Int?
    /// The number of texts of every inference; nil if it is open.
    package let fixedCount: Int?

    private static let roles: [String: Role] = [
        "input_ids": .ids, "attention_mask": .mask, "token_type_ids": .types, "position_ids": .positions,
    ]

    /// True if an input of this name is one of a text.
    static func isText(_ name: String) -> Bool { roles[name] != nil }

    /// Finds the inputs and the output; nil if the network is no text side, with the reasons in `problems`.
    package init?(_ words: WordsDescription, inputs ports: [TensorPort], outputs: [TensorPort], problems: ProblemList) {
        let file = words[.texts] ?? ""
        var inputs: [Input] = []
        for port in ports {
            guard let role = Self.roles[port.name], [.int64, .int32].contains(port.elementType),
                port.shape.dimensions.count == 2
            else {
                problems.add(
                    file,
                    "has the input \"\(port.name)\" \(port.shape) of \(port.elementType.rawValue): expected input_ids, "
                        + "attention_mask, token_type_ids and position_ids, of int64 or int32 [texts, tokens]")
                return nil
            }
            inputs.append(Input(name: port.name, role: role, elementType: port.elementType))
        }
        guard inputs.contains(where: { $0.role == .ids }) else {
            problems.add(file, "has no input \"input_ids\"; it has \(ports.map(\.name).listed)")
            return nil
        }
        self.inputs = inputs
        fixedCount = Self.fixed(ports, 0)
        fixedLength = Self.fixed(ports, 1)
        if let pooled = words.first(words.textOutputs, outputs) {
            (output, isPooled) = (pooled, true)
            return
        }
        let tokens =
            words.first(["token_embeddings", "last_hidden_state"], outputs)
            ?? outputs.firstIndex { $0.shape.dimensions.count == 3 }
        guard let tokens, !words.takesPictures, !words.texts.poolings.isEmpty else {
            let pooling =
                words.takesPictures || tokens == nil
                ? "" : ", and no file states how the vectors of its tokens are pooled (1_Pooling/config.json)"
            problems.add(
                file,
                "has no output with the vector of a text: expected \(words.textOutputs.listed), found "
                    + outputs.map(\.name).listed + pooling)
            return nil
        }
        (output, isPooled) = (tokens, false)
    }

    /// The extent of an axis that an input fixes.
    private static func fixed(_ ports: [TensorPort], _ axis: Int) -> Int? {
        ports.lazy.map { $0.shape.dimensions[axis] }.first { $0 != Shape.dynamic }
    }
}

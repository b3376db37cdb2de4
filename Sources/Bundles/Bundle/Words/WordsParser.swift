internal import EngineAPI
internal import JSON

/// Reads `zero_shot` of a model.json.
struct WordsParser {
    let object: ManifestObject

    /// Applies the members to a description.
    func apply(to zeroShot: inout WordsDescription.ZeroShot) {
        if let labels = strings("labels") {
            if let mistake = LabelList.mistake(in: labels) { object.note("labels", mistake) }
            zeroShot.labels = labels
        }
        if let prompts = prompts() { zeroShot.prompts = prompts }
        if let scale = object.number("scale") {
            if !(scale > 0 && scale <= 1e6) { object.note("scale", "expected a number above 0, found \(scale)") }
            zeroShot.scale = scale
        }
        if let bias = object.number("bias") {
            if !(abs(bias) <= 1e6) { object.note("bias", "expected a number from -1e6 to 1e6, found \(bias)") }
            zeroShot.bias = bias
        }
        if let activation = object.choice("activation", ModelManifest.Activation.self) {
            zeroShot.activation = activation
        }
        object.refuseUnknownKeys()
    }

    /// One prompt, or a list.
    private func prompts() -> [Prompt]? {
        let texts: [String]?
        if case .string(let text)? = object.value("prompt") { texts = [text] } else { texts = strings("prompt") }
        guard let texts else { return nil }
        guard (1...Prompt.maximumCount).contains(texts.count) else {
            object.note("prompt", "expected 1 to \(Prompt.maximumCount) prompts, found \(texts.count)")
            return nil
        }
        return texts.compactMap { text in
            if let prompt = Prompt(text) { return prompt }
            object.note("prompt", "expected \(Prompt.expected), found \"\(text.prefix(80))\"")
            return nil
        }
    }

    private func strings(_ key: String) -> [String]? {
        object.read(key, key == "prompt" ? "a string, or an array of strings" : "an array of strings") { value in
            guard case .array(let elements) = value else { return nil }
            let texts = elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
            return texts.count == elements.count ? texts : nil
        }
    }
}

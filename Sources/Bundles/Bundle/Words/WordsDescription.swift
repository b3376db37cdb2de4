package import EngineAPI
internal import FileFormats
package import Observations

/// A model that embeds texts, and perhaps pictures in the same space, as its published files describe it.
package struct WordsDescription: Sendable {
    package var layout: Layout
    package var texts = TextFacts()
    package var zeroShot = ZeroShot()
    /// The settings of all networks.
    package var runtime = ModelRuntime()

    /// The files of the networks, as paths in the bundle's folder.
    package enum Layout: Sendable, Hashable {
        /// A network for each side.
        case split(pictures: String, texts: String)
        /// Both sides in one file.
        case whole(String)
        /// A text model, without pictures.
        case texts(String)
    }

    /// The facts about texts, from the files next to the networks.
    package struct TextFacts: Sendable {
        /// The maximum number of ids of a text, as the tokenizer's files and those of sentence-transformers state it;
        /// nil if they do not.
        package var stated: Int?
        /// The number of positions that the network has; nil if config.json does not state it.
        package var positions: Int?
        /// True if every text is filled up to its maximum length (SigLIP).
        package var isFilled = false
        /// The token that fills texts up, or else its id; nil if no file names it.
        package var paddingToken: String?
        package var paddingID: Int?
        /// The poolings of the vectors of a text's tokens. The results are joined. Empty if the files state none.
        package var poolings: [TextPooling] = []
        /// True if vectors have length 1.
        package var isNormalized = true
        /// True if the pooled output of the network without a projection is the vector (SigLIP).
        package var usesPooler = false

        package init() {}
    }

    /// The classification by labels, of a model for pictures and texts.
    package struct ZeroShot: Sendable {
        /// The labels of the model; nil if it has none of its own.
        package var labels: [String]?
        /// The prompts. Their vectors are averaged.
        package var prompts = [Prompt.plain]
        /// From similarities to confidences; nil if the files do not state it.
        package var scale: Double?, bias: Double?
        package var activation: ModelManifest.Activation?

        package init() {}
    }

    package init(_ layout: Layout) { self.layout = layout }

    /// The file of tokens.
    package static let tokenizerFile = "tokenizer.json"

    /// The maximum number of ids of a text if nothing limits it.
    package static let longestText = 8_192

    /// True if it embeds pictures.
    package var takesPictures: Bool { if case .texts = layout { false } else { true } }

    /// True if one file has both sides.
    package var isWhole: Bool { if case .whole = layout { true } else { false } }

    /// The path of the file of a side; nil if the model does not have the side.
    package subscript(part: WordsPart) -> String? {
        switch (layout, part) {
        case (.split(let pictures, _), .pictures): pictures
        case (.split(_, let texts), .texts), (.texts(let texts), .texts): texts
        case (.whole(let file), _): file
        case (.texts, .pictures): nil
        }
    }

    /// The file that the bundle is named for in reports.
    package var mainFile: String { self[.pictures] ?? self[.texts] ?? "" }

    /// The maximum number of ids of a text.
    /// - Parameter truncation: that of `tokenizer.json`; nil without one.
    package func longest(truncation: Int?) -> Int {
        let stated = texts.stated ?? truncation ?? texts.positions ?? Self.longestText
        return max(1, min(stated, texts.positions ?? stated, Self.longestText))
    }

    /// The index of the output that is the vector of a picture.
    package func pictureOutput(_ outputs: [TensorPort]) -> Int? {
        first(pictureOutputs, outputs)
    }

    private var pictureOutputs: [String] {
        let names = ["image_embeds", "image_embeddings", "l2norm_image_embeddings"]
        return names + (texts.usesPooler ? ["pooler_output"] : [])
    }

    /// The outputs that are the vector of a text, in order of preference.
    var textOutputs: [String] {
        let names = ["text_embeds", "text_embeddings", "l2norm_text_embeddings", "sentence_embedding"]
        return names + (texts.usesPooler ? ["pooler_output"] : [])
    }

    /// The output that is the vector of a side, among those of a file with both.
    package func output(of part: WordsPart, among names: [String]) -> String? {
        let known = part == .texts ? textOutputs : pictureOutputs
        return known.first(where: names.contains)
    }

    /// True if an input of this name is one of a text.
    package func isTextInput(_ name: String) -> Bool { TextForm.isText(name) }

    func first(_ names: [String], _ ports: [TensorPort]) -> Int? {
        names.lazy.compactMap { name in ports.firstIndex { $0.name == name } }.first
    }
}

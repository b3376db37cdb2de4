internal import Tokenizers

/// The tokenizer of a model that embeds texts, and the facts about its texts.
struct TextSource: Sendable {
    let tokenizer: Tokenizer
    let texts: WordsDescription.TextFacts
    /// The maximum number of ids of a text.
    let longest: Int
    /// The id that fills texts up.
    let paddingID: UInt32
    /// The digest of the bundle's files.
    let digest: String

    /// The maximum size of a `tokenizer.json`.
    private static let largestFile = 64 << 20

    /// Reads the files. Blocks.
    init(_ bundle: ModelBundle, _ words: WordsDescription) throws(InferenceError) {
        let name = WordsDescription.tokenizerFile
        func problem(_ reason: String) -> InferenceError {
            .invalidBundle(name: bundle.name, problems: [BundleProblem(path: name, reason: reason)])
        }
        let bytes: [UInt8]
        switch BundleFile.read(bundle.path + "/" + name, maximum: Self.largestFile) {
        case .success(let data): bytes = [UInt8](data)
        case .failure(let found): throw problem(found.reason)
        }
        do throws(TokenizerProblem) {
            tokenizer = try Tokenizer(json: bytes)
        } catch {
            throw problem(error.message)
        }
        texts = words.texts
        longest = words.longest(truncation: tokenizer.truncation?.maximumLength)
        guard longest > tokenizer.addedCount else {
            throw problem(
                "adds \(tokenizer.addedCount) tokens to each text, and the longest text of the model has \(longest)")
        }
        let named = words.texts.paddingToken.flatMap { [tokenizer] in tokenizer.id(of: $0) }
        paddingID =
            named ?? words.texts.paddingID.map { UInt32(clamping: $0) } ?? tokenizer.padding?.id ?? 0
        guard let digest = Model.filesDigest(of: bundle.path) else { throw problem("cannot be read again") }
        self.digest = digest
    }
}

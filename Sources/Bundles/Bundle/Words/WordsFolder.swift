internal import EngineAPI
internal import FileFormats
internal import JSON
internal import ModelFacts
internal import Observations
internal import SystemSupport

/// A folder with a model that embeds texts, as it is published: `tokenizer.json`, and `text_model.onnx` with
/// `vision_model.onnx`, one file with the inputs of both sides, or a text model of sentence-transformers. The model
/// files are in the folder, or in its folder `onnx`.
struct WordsFolder {
    let folder: String
    let files: FolderReader

    init(_ folder: String, files: FolderReader = .disk) { (self.folder, self.files) = (folder, files) }

    /// The result of looking for the networks.
    enum Search {
        case found(WordsDescription)
        /// The folder is one of such a model, but has this problem.
        case problem(BundleProblem)
        case none
    }

    private static let exports = "onnx"
    private static let (pictures, texts) = ("vision_model", "text_model")
    /// The names of files with both sides, or of text models, in order of preference.
    private static let usual = ["model.onnx", exports + "/model.onnx"]
    private static let modules = "modules.json", poolingFile = "1_Pooling/config.json"
    private static let largestFile = 16 << 20

    /// Looks for the networks. Blocks.
    /// - Parameter names: the names in the folder.
    func search(_ names: [String]) -> Search {
        guard names.contains(WordsDescription.tokenizerFile), let layout = layout(names) else { return .none }
        var words = WordsDescription(layout)
        let problems = ProblemList()
        complete(&words, names, problems)
        if case .texts = layout, words.texts.poolings.isEmpty, problems.problems.isEmpty, !isPooled(words) {
            // A network over tokens with another purpose, such as a classifier of texts.
            return .none
        }
        return problems.problems.first.map { .problem($0) } ?? .found(words)
    }

    /// True if the folder has the layout of such a model, whether or not it can be loaded. Blocks.
    func isRecognized(_ names: [String]) -> Bool {
        if case .none = search(names) { return false }
        return true
    }

    // MARK: Files

    private func layout(_ names: [String]) -> WordsDescription.Layout? {
        if names.contains(PulledFolder.record), let model = PulledFolder.model(in: folder, files: files),
            !model.contains(Self.texts), !model.contains(Self.pictures)
        {
            return whole(model)
        }
        let inside = names.contains(Self.exports) ? (try? files.names(folder + "/" + Self.exports)) ?? [] : []
        let all = (names.map { $0 } + inside.map { Self.exports + "/" + $0 }).filter { $0.hasEnding(".onnx") }.sorted()
        if let pair = pair(all) { return pair }
        if let model = Self.usual.first(where: all.contains) ?? (all.count == 1 ? all[0] : nil) { return whole(model) }
        return nil
    }

    /// The files of the two sides: without a suffix, else the only two with the same suffix (`_quantized`).
    private func pair(_ all: [String]) -> WordsDescription.Layout? {
        let found = all.compactMap { path -> (pictures: String, texts: String)? in
            guard let name = FilePath.name(of: path), name.hasPrefix(Self.texts) else { return nil }
            let pictures = path.dropLast(name.count) + Self.pictures + name.dropFirst(Self.texts.count)
            return all.contains(String(pictures)) ? (String(pictures), path) : nil
        }
        let usual = found.filter { $0.texts.hasEnding(Self.texts + ".onnx") }
        guard let pair = usual.first ?? (found.count == 1 ? found[0] : nil) else { return nil }
        return .split(pictures: pair.pictures, texts: pair.texts)
    }

    /// The layout of a single file; nil if it takes no texts.
    private func whole(_ model: String) -> WordsDescription.Layout? {
        guard ModelFormat(file: model) == .onnx, let inputs = ports(model)?.inputs, inputs.contains("input_ids") else {
            return nil
        }
        return inputs.contains("pixel_values") ? .whole(model) : .texts(model)
    }

    private func ports(_ model: String) -> (inputs: [String], outputs: [String])? {
        guard let file = try? OpenFile(folder + "/" + model) else { return nil }
        return ONNXReader.ports(ByteSource(count: file.size) { file.bytes($0) })
    }

    private func isPooled(_ words: WordsDescription) -> Bool {
        guard let file = words[.texts], let outputs = ports(file)?.outputs else { return false }
        return words.textOutputs.contains(where: outputs.contains)
    }

    // MARK: Facts

    /// Adds the facts of the files next to the networks. Blocks.
    private func complete(_ words: inout WordsDescription, _ names: [String], _ problems: ProblemList) {
        let isPair = words.takesPictures
        if names.contains("config.json"), let config = object("config.json", problems) {
            readConfiguration(config, isPair: isPair, &words)
        }
        if names.contains("sentence_bert_config.json"), let config = object("sentence_bert_config.json", problems) {
            words.texts.stated = config.integer("max_seq_length", in: 1...(1 << 20))
        }
        readTokenizerFiles(names, &words.texts, problems)
        guard !isPair else { return }
        words.texts.isNormalized = false
        if names.contains(Self.modules) {
            readModules(&words.texts, problems)
        } else if (try? files.kind(folder + "/" + Self.poolingFile)) == .file {
            readPooling(Self.poolingFile, &words.texts, problems)
        }
    }

    /// Models that count positions from the padding's id plus one.
    private static let shifted: Set<String> = [
        "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "xmod", "data2vec-text", "longformer",
    ]

    private func readConfiguration(_ config: JSONFacts, isPair: Bool, _ words: inout WordsDescription) {
        let type = config.string("model_type") ?? ""
        let text = isPair ? config.object("text_config") ?? config : config
        let padding = text.integer("pad_token_id", in: 0...Int(UInt32.max))
        words.texts.paddingID = padding ?? config.integer("pad_token_id", in: 0...Int(UInt32.max))
        if let positions = text.integer("max_position_embeddings", in: 1...(1 << 20)) {
            let first = Self.shifted.contains(text.string("model_type") ?? type) ? (padding ?? 1) + 1 : 0
            words.texts.positions = max(1, positions - first)
        }
        if isPair, type.hasPrefix("siglip") {
            words.texts.isFilled = true
            words.texts.usesPooler = true
            words.zeroShot.activation = .sigmoid
            // The default of the configuration's class, which writes only differences.
            words.texts.positions = words.texts.positions ?? 64
        }
        if isPair, type == "clip", words.texts.positions == nil { words.texts.positions = 77 }
    }

    private func readTokenizerFiles(
        _ names: [String], _ texts: inout WordsDescription.TextFacts, _ problems: ProblemList
    ) {
        for file in ["tokenizer_config.json", "special_tokens_map.json"] where names.contains(file) {
            guard let facts = object(file, problems) else { continue }
            if let length = facts.value("model_max_length")?.finite, length >= 1, length < 1e6 {
                texts.stated = texts.stated ?? Int(length)
            }
            texts.paddingToken =
                texts.paddingToken ?? facts.string("pad_token")
                ?? facts.object("pad_token")?.string("content")
        }
    }

    /// Reads the list of the modules of sentence-transformers: a network, its pooling, and normalization.
    private func readModules(_ texts: inout WordsDescription.TextFacts, _ problems: ProblemList) {
        guard let value = read(Self.modules, problems) else { return }
        guard case .array(let modules) = value else {
            problems.add(Self.modules, "expected an array, found \(value.kind)")
            return
        }
        for module in modules.compactMap(JSONFacts.init) {
            let type = module.string("type") ?? "", path = module.string("path") ?? ""
            switch type.split(separator: ".").last {
            case "Transformer"?: break
            case "Pooling"?:
                let parts = path.split(separator: "/", omittingEmptySubsequences: false)
                guard !parts.contains(".."), !path.hasPrefix("/") else {
                    problems.add(Self.modules, "expected a path inside the folder, found \"\(path)\"")
                    return
                }
                readPooling(path.isEmpty ? "config.json" : path + "/config.json", &texts, problems)
            case "Normalize"?: texts.isNormalized = true
            default:
                problems.add(
                    Self.modules,
                    "names \"\(type)\", which is not supported: expected a Transformer, a Pooling and a Normalize")
            }
        }
    }

    private func readPooling(
        _ file: String, _ texts: inout WordsDescription.TextFacts, _ problems: ProblemList
    ) {
        guard let facts = object(file, problems) else { return }
        var modes: Set<String> = []
        if let mode = facts.string("pooling_mode") { modes.insert(mode) }
        for (key, name) in [
            ("pooling_mode_cls_token", "cls"), ("pooling_mode_mean_tokens", "mean"), ("pooling_mode_max_tokens", "max"),
            ("pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len"),
            ("pooling_mode_weightedmean_tokens", "weightedmean"), ("pooling_mode_lasttoken", "lasttoken"),
        ] where facts.value(key) == .bool(true) { modes.insert(name) }
        // Some files state both means, which differ only in their length: one vector is meant.
        if modes.contains(TextPooling.mean.rawValue) { modes.remove(TextPooling.meanSqrtLength.rawValue) }
        texts.poolings = TextPooling.allCases.filter { modes.contains($0.rawValue) }
        guard texts.poolings.count == modes.count, !modes.isEmpty else {
            let known = TextPooling.allCases.map(\.rawValue).listed
            problems.add(file, "states the pooling \(modes.sorted().listed): expected one or more of \(known)")
            return
        }
    }

    // MARK: Reading

    private func read(_ file: String, _ problems: ProblemList) -> JSONValue? {
        switch BundleFile.read(folder + "/" + file, maximum: Self.largestFile) {
        case .failure(let problem): problems.add(file, problem.reason)
        case .success(let data):
            do throws(FormatError) {
                return try JSONFile.read([UInt8](data))
            } catch {
                problems.add(file, error.reason)
            }
        }
        return nil
    }

    private func object(_ file: String, _ problems: ProblemList) -> JSONFacts? {
        guard let value = read(file, problems) else { return nil }
        guard let facts = JSONFacts(value) else {
            problems.add(file, "expected an object, found \(value.kind)")
            return nil
        }
        return facts
    }
}

/// The members of an object that another program wrote; values of other types count as missing.
private struct JSONFacts {
    private let members: [String: JSONValue]

    init?(_ value: JSONValue) {
        guard case .object(let members) = value else { return nil }
        self.members = members
    }

    func value(_ key: String) -> JSONValue? { members[key].flatMap { $0 == .null ? nil : $0 } }

    func string(_ key: String) -> String? {
        if case .string(let text)? = members[key] { text } else { nil }
    }

    func object(_ key: String) -> JSONFacts? { members[key].flatMap(JSONFacts.init) }

    func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let number = members[key]?.finite, number == number.rounded(),
            (Double(range.lowerBound)...Double(range.upperBound)).contains(number)
        else { return nil }
        return Int(number)
    }
}

internal import EngineAPI
internal import FileFormats
internal import ModelFacts
internal import Observations
internal import SystemSupport

/// A folder with the networks of a reader as RapidOCR, PaddleOCR and PaddleX publish them: `det`, `rec`, and `cls` or
/// `ori` are words in the names of the files, or of the folders that hold a file `inference`, or one with the word as
/// its name, each.
struct ReaderFolder {
    let folder: String
    let files: FolderReader

    /// The words of each part in the names of files and folders.
    private static let words: [(part: ReaderPart, words: Set<String>)] = [
        (.find, ["det"]), (.read, ["rec"]), (.turn, ["cls", "ori"]),
    ]
    /// The names under which PaddleOCR and PaddleX write each network, in order of preference.
    private static let inferenceFiles = ["inference.onnx", "inference.pdmodel"]
    /// The newer form of Paddle's networks, which OpenVINO does not read.
    private static let newerFile = "inference.json"
    static let factsFile = "inference.yml"

    init(_ folder: String, files: FolderReader = .disk) { (self.folder, self.files) = (folder, files) }

    /// The result of looking for the networks.
    enum Search {
        case found(ReaderDescription)
        /// The folder is one of a reader, but has this problem.
        case problem(BundleProblem)
        case none
    }

    /// Looks for the networks by the names in the folder. Blocks.
    /// - Parameter names: the names in the folder.
    func search(_ names: [String]) -> Search {
        var found: [ReaderPart: [String]] = [:], newer: [String] = []
        for name in names.sorted() where !name.hasPrefix(".") {
            guard let part = Self.part(of: name) else { continue }
            if ModelBundle.isModelFile(name), name != "saved_model.pb" {
                if (try? files.kind(folder + "/" + name)) == .file { found[part, default: []].append(name) }
                continue
            }
            guard (try? files.kind(folder + "/" + name)) == .folder,
                let inside = try? files.names(folder + "/" + name)
            else { continue }
            let own = Self.words.first { $0.part == part }?.words.map { $0 + ".onnx" }.sorted() ?? []
            if let file = (Self.inferenceFiles + own).first(where: inside.contains) {
                found[part, default: []].append(name + "/" + file)
            } else if inside.contains(Self.newerFile) {
                newer.append(name)
            }
        }
        // A single network, such as a classifier with the word "det" in its name, is no reader.
        let all = Set(found.keys).union(newer.compactMap(Self.part))
        guard all.contains(.find), all.contains(.read) else { return .none }
        if let name = newer.first { return .problem(Self.conversion(of: name)) }
        for (part, files) in found.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where files.count > 1 {
            return .problem(
                BundleProblem(
                    path: "",
                    reason: "has several files for \"\(part.rawValue)\" of a reader: \(files.listed); "
                        + "name one in a model.json: \"reader\": {\"\(part.rawValue)\": \"\(files[0])\", …}"))
        }
        guard let find = found[.find]?.first, let read = found[.read]?.first else { return .none }
        var reader = ReaderDescription(
            find: .init(file: find), turn: found[.turn]?.first.map { .init(file: $0) }, read: .init(file: read))
        let problems = ProblemList()
        complete(&reader, problems)
        return problems.problems.first.map { .problem($0) } ?? .found(reader)
    }

    /// True if the folder is that of a reader and has no other model files. Blocks.
    /// - Parameter names: the names in the folder.
    func isWhole(_ names: [String]) -> Bool {
        guard !names.contains(where: { ModelBundle.isModelFile($0) && Self.part(of: $0) == nil }) else { return false }
        if case .none = search(names) { return false }
        return true
    }

    /// The refusal of a network in Paddle's newer form.
    private static func conversion(of name: String) -> BundleProblem {
        BundleProblem(
            path: "\(name)/\(newerFile)",
            reason: "is a network in Paddle's newer form, which cannot be read; convert it: "
                + "paddle2onnx --model_dir \(name) --model_filename \(newerFile) --params_filename inference.pdiparams "
                + "--save_file \(name)/inference.onnx")
    }

    /// The part that a name stands for; nil for other names, and for several.
    private static func part(of name: String) -> ReaderPart? {
        let parts = name.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
        let found = words.filter { entry in parts.contains(where: entry.words.contains) }
        return found.count == 1 ? found[0].part : nil
    }

    /// Adds the facts of the files next to the networks. Blocks.
    func complete(_ reader: inout ReaderDescription, _ problems: ProblemList) {
        if let facts = facts(of: reader.find.file, problems) {
            reader.find.adopt(facts)
            reader.regions.dilates = false
            if let bitmap = facts.bitmap { reader.regions.bitmap = Float(bitmap) }
            if let threshold = facts.threshold { reader.regions.threshold = Float(threshold) }
            if let growth = facts.growth { reader.regions.growth = growth }
            if let side = facts.longerSide {
                (reader.side, reader.limitsLongerSide) = (side, true)
            } else if let side = facts.shorterSide {
                reader.side = side
            }
            // PaddleX scales only pictures that are larger than this.
            reader.maximumSide = 4_000
        }
        if var turn = reader.turn, let facts = facts(of: turn.file, problems) {
            turn.adopt(facts)
            (turn.height, turn.width) = (facts.height, facts.width)
            reader.turn = turn
        }
        let facts = facts(of: reader.read.file, problems)
        if let facts {
            reader.read.adopt(facts)
            reader.read.height = facts.height
        }
        if reader.read.dictionary == nil { reader.read.dictionary = dictionary(of: reader.read.file, facts, problems) }
        if reader.read.dictionary == nil, problems.problems.isEmpty {
            problems.add(
                reader.read.file,
                "has no dictionary: expected the metadata \"character\", an \(Self.factsFile) with character_dict, or a "
                    + "text file next to it with \"dict\" or \"keys\" in its name")
        }
    }

    /// The facts of the file `inference.yml` in the folder of a network; nil without one. Blocks.
    private func facts(of network: String, _ problems: ProblemList) -> PaddleFacts? {
        guard network.contains("/") || Self.inferenceFiles.contains(network) else { return nil }
        let place = FilePath.parent(of: network), name = (place.isEmpty ? "" : place + "/") + Self.factsFile
        guard (try? files.kind(folder + "/" + name)) == .file else { return nil }
        switch BundleFile.read(folder + "/" + name, maximum: Self.largestFacts) {
        case .failure(let problem): problems.add(name, problem.reason)
        case .success(let data):
            do throws(FormatError) {
                return try PaddleFacts([UInt8](data))
            } catch {
                problems.add(name, error.reason)
            }
        }
        return nil
    }

    private static let largestFacts = 16 << 20

    /// The dictionary of a recognizer: of its metadata, of its facts, or of a file next to it. Blocks.
    private func dictionary(
        of network: String, _ facts: PaddleFacts?, _ problems: ProblemList
    ) -> (texts: [String], source: String)? {
        if let texts = facts?.characters { return (texts, Self.factsFile) }
        if ModelFormat(file: network) == .onnx, let file = try? OpenFile(folder + "/" + network),
            let text = ONNXReader.property("character", of: ByteSource(count: file.size) { file.bytes($0) })
        {
            return read([UInt8](text.utf8), "the metadata \"character\" of \(network)", problems)
        }
        let place = FilePath.parent(of: network), prefix = place.isEmpty ? "" : place + "/"
        let names = ((try? files.names(folder + (place.isEmpty ? "" : "/" + place))) ?? []).map { prefix + $0 }
        let above = place.isEmpty ? [] : (try? files.names(folder)) ?? []
        for name in (names.sorted() + above.sorted()) where Self.isDictionary(name) {
            return dictionary(file: name, problems)
        }
        return nil
    }

    /// Reads a dictionary file. Blocks.
    func dictionary(file name: String, _ problems: ProblemList) -> (texts: [String], source: String)? {
        switch BundleFile.read(folder + "/" + name, maximum: Self.largestFacts) {
        case .failure(let problem):
            problems.add(name, problem.reason)
            return nil
        case .success(let data): return read([UInt8](data), name, problems)
        }
    }

    private func read(
        _ bytes: [UInt8], _ source: String, _ problems: ProblemList
    ) -> (texts: [String], source: String)? {
        do throws(FormatError) {
            return (try TextDictionary.read(bytes), source)
        } catch {
            problems.add(source, error.reason)
            return nil
        }
    }

    private static func isDictionary(_ path: String) -> Bool {
        let name = (FilePath.name(of: path) ?? path).lowercased()
        return name.hasEnding(".txt") && (name.contains("dict") || name.contains("keys"))
    }
}

extension ReaderDescription.Network {
    fileprivate mutating func adopt(_ facts: PaddleFacts) {
        if let mean = facts.mean { self.mean = mean }
        if let std = facts.std { self.std = std }
    }
}

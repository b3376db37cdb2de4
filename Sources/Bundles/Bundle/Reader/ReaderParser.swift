internal import EngineAPI
internal import JSON
internal import Observations

/// Reads `reader` of a model.json.
struct ReaderParser {
    let object: ManifestObject
    /// The bundle's folder.
    let folder: ReaderFolder

    private var problems: ProblemList { object.problems }

    /// Reads the description, completed by the files next to the networks. Blocks. Nil if a network is missing.
    func parse() -> ReaderDescription? {
        defer { object.refuseUnknownKeys() }
        let find = network(.find, isRequired: true), turn = network(.turn), read = network(.read, isRequired: true)
        let dictionary = object.string("dictionary")
        guard let find, let read else { return nil }
        var reader = ReaderDescription(find: find, turn: turn, read: read)
        if let dictionary { reader.read.dictionary = folder.dictionary(file: dictionary, problems) }
        guard problems.problems.isEmpty else { return reader }
        folder.complete(&reader, problems)
        override(&reader)
        return reader
    }

    private func network(_ part: ReaderPart, isRequired: Bool = false) -> ReaderDescription.Network? {
        guard let file = isRequired ? object.requiredString(part.rawValue) : object.string(part.rawValue), !file.isEmpty
        else { return nil }
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.contains(where: { $0.isEmpty || $0 == ".." || $0 == "." }) else {
            problems.add(object.path(of: part.rawValue), "expected a name inside the bundle, found \"\(file)\"")
            return nil
        }
        guard (try? folder.files.kind(folder.folder + "/" + file)) == .file else {
            problems.add(object.path(of: part.rawValue), "\"\(file)\" is not in the bundle")
            return nil
        }
        return ReaderDescription.Network(file: file)
    }

    /// Applies the numbers of the object.
    private func override(_ reader: inout ReaderDescription) {
        if let threshold = HeadParser.share(object, "find_threshold") { reader.regions.threshold = threshold }
        if let bitmap = HeadParser.share(object, "bitmap") { reader.regions.bitmap = bitmap }
        if let growth = object.number("growth") {
            if (0.1...10).contains(growth) {
                reader.regions.growth = growth
            } else {
                object.note("growth", "expected a number from 0.1 to 10, found \(growth)")
            }
        }
        if let side = object.integer("side", in: 32...4_096) { reader.side = side }
        if let side = object.integer("max_side", in: 32...8_192) { reader.maximumSide = side }
        if let height = object.integer("height", in: 8...512) { reader.read.height = height }
        if let mean = channels("mean") { reader.find.mean = mean }
        if let std = channels("std") {
            if std.contains(where: { $0 <= 0 }) {
                object.note("std", "expected numbers greater than 0")
            } else {
                reader.find.std = std
            }
        }
    }

    /// One number for all channels of the detector's tensor, or an array of three: blue, green, red.
    private func channels(_ key: String) -> [Double]? {
        object.read(key, "a number, or an array of three") { value in
            if let number = value.finite { return [number, number, number] }
            guard case .array(let elements) = value else { return nil }
            let numbers = elements.compactMap(\.finite)
            return numbers.count == 3 && elements.count == 3 ? numbers : nil
        }
    }
}

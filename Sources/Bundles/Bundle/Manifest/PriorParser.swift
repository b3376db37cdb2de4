internal import FileFormats
internal import JSON
internal import Observations

/// Reads `priors`: a file of boxes, or levels on which boxes are generated.
struct PriorParser {
    let object: ManifestObject
    let contents: (_ file: String, _ path: String) -> [UInt8]?

    private var problems: ProblemList { object.problems }

    func parse() -> PriorBoxes? {
        switch object.value("priors") {
        case nil: return nil
        case .string(let file)?: return boxes(of: file)
        case .array?:
            let levels = object.objects("priors")
            guard (1...64).contains(levels.count) else {
                problems.add(object.path(of: "priors"), "expected 1 to 64 levels, found \(levels.count)")
                return nil
            }
            return .grid(levels.map(level))
        case let value?:
            problems.add(
                object.path(of: "priors"),
                "expected the name of an NPY file, or an array of levels, found \(value.kind)")
            return nil
        }
    }

    private func boxes(of file: String) -> PriorBoxes? {
        let path = object.path(of: "priors")
        guard let bytes = contents(file, path) else { return nil }
        do throws(FormatError) {
            let array = try NPYFile(bytes)
            guard array.shape.count == 2, array.shape.last == 4 else {
                throw FormatError("has shape \(array.shape): expected [boxes, 4]")
            }
            return .given(array.floats(in: bytes))
        } catch {
            problems.add(path, "\"\(file)\" \(error.reason)")
            return nil
        }
    }

    private func level(_ level: ManifestObject) -> PriorBoxes.Level {
        var result = PriorBoxes.Level(stride: level.integer("stride", in: 1...4_096) ?? 1, boxes: [])
        if !level.has("stride") {
            problems.add(level.path(of: "stride"), "is missing: expected pixels from cell to cell")
        }
        if let offset = level.number("offset") { result.offset = Float(offset) }
        if let elements = level.elements("boxes") {
            result.boxes = elements.enumerated().compactMap { index, element in
                guard case .array(let sides) = element, sides.count == 2,
                    let width = sides[0].asNumber, let height = sides[1].asNumber, width > 0, height > 0
                else {
                    problems.add("\(level.path(of: "boxes"))[\(index)]", "expected [width, height] in pixels")
                    return nil
                }
                return [Float(width), Float(height)]
            }
        }
        let sizes = positive(level, "sizes"), ratios = positive(level, "ratios")
        if !sizes.isEmpty {
            result.boxes += PriorBoxes.Level.boxes(sizes: sizes, ratios: ratios.isEmpty ? [1] : ratios)
        }
        if result.boxes.isEmpty || result.boxes.count > 1_024 {
            problems.add(level.path, "has \(result.boxes.count) boxes: expected 1 to 1024, by \"boxes\" or \"sizes\"")
        }
        level.refuseUnknownKeys()
        return result
    }

    private func positive(_ level: ManifestObject, _ key: String) -> [Float] {
        guard let elements = level.elements(key) else { return [] }
        let numbers = elements.compactMap(\.asNumber).filter { $0 > 0 && $0 < 1e6 }
        guard numbers.count == elements.count, numbers.count <= 64 else {
            problems.add(level.path(of: key), "expected at most 64 numbers greater than 0")
            return []
        }
        return numbers.map { Float($0) }
    }
}

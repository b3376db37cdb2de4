package import FileFormats
internal import JSON

/// The facts in the `inference.yml` that PaddleOCR 3 and PaddleX write next to a model.
package struct PaddleFacts: Sendable, Hashable {
    /// The model's name: `PP-OCRv5_mobile_det`.
    package var name: String?
    /// The mean and the standard deviation of each channel in the tensor's order.
    package var mean: [Double]?, std: [Double]?
    /// The side that is scaled to a length, if the file says so.
    package var shorterSide: Int?, longerSide: Int?
    /// The height and width of the tensor.
    package var height: Int?, width: Int?
    /// The numbers of a text detector's postprocessing.
    package var bitmap: Double?, threshold: Double?, growth: Double?
    /// The dictionary of a recognizer.
    package var characters: [String]?

    /// Reads a file.
    package init(_ text: [UInt8]) throws(FormatError) {
        let tree = try YAMLSubset.read(text)
        name = Self.text(tree["Global"]?["model_name"])
        for step in Self.list(tree["PreProcess"]?["transform_ops"]) {
            if let normalize = step["NormalizeImage"] {
                mean = Self.numbers(normalize["mean"], count: 3)
                std = Self.numbers(normalize["std"], count: 3)?.map { $0 == 0 ? 1 : $0 }
            }
            if let resize = step["DetResizeForTest"] {
                let side = Self.integer(resize["limit_side_len"]), type = Self.text(resize["limit_type"])
                if type == "max" { longerSide = side } else { shorterSide = side }
                if let long = Self.integer(resize["resize_long"]) { (longerSide, shorterSide) = (long, nil) }
            }
            if let resize = step["RecResizeImg"] ?? step["ResizeImage"] {
                let shape = Self.numbers(resize["image_shape"], count: 3)?.map { Int($0) }
                let size = Self.numbers(resize["size"], count: 2)?.map { Int($0) }
                if let shape { (height, width) = (shape[1], shape[2]) }
                // Width first.
                if let size { (height, width) = (size[1], size[0]) }
            }
        }
        let post = tree["PostProcess"]
        bitmap = Self.number(post?["thresh"])
        threshold = Self.number(post?["box_thresh"])
        growth = Self.number(post?["unclip_ratio"])
        guard case .array(let entries)? = post?["character_dict"] else { return }
        var characters: [String] = []
        for (index, entry) in entries.enumerated() {
            guard let text = Self.text(entry) else {
                throw FormatError("PostProcess.character_dict[\(index)]: expected a text, found \(entry.kind)")
            }
            characters.append(text)
        }
        self.characters = try TextDictionary.checked(characters)
    }

    private static func list(_ value: JSONValue?) -> [JSONValue] {
        if case .array(let elements)? = value { elements } else { [] }
    }

    private static func text(_ value: JSONValue?) -> String? { value.flatMap { PlainScalar.text($0) } }

    private static func number(_ value: JSONValue?) -> Double? {
        switch value {
        case .integer(let number)?: Double(number)
        case .number(let number)? where number.isFinite: number
        case .string(let text)?: Double(text).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    /// A side in pixels.
    private static func integer(_ value: JSONValue?) -> Int? {
        guard let number = number(value), (1...16_384).contains(number) else { return nil }
        return Int(number)
    }

    private static func numbers(_ value: JSONValue?, count: Int) -> [Double]? {
        let numbers = list(value).compactMap { Self.number($0) }
        return numbers.count == count && numbers.allSatisfy { abs($0) < 1e5 } ? numbers : nil
    }
}

extension JSONValue {
    /// The member of an object.
    fileprivate subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }
}

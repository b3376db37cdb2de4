package import FileFormats
internal import JSON

/// Reads files of labels: a name on each line, optionally with the class number or WordNet's number
/// (`n01440764 tench, Tinca tinca`), CSV, JSON, Python's notation.
package enum LabelFile {
    package static let maximumBytes = 64 << 20

    /// True if a file name is usual for labels.
    package static func isUsual(_ name: String) -> Bool { rank(name) != nil }

    /// The rank of a file name among those of label files, 0 first; nil for other names.
    package static func rank(_ name: String) -> Int? {
        let lower = name.lowercased()
        if let place = usual.firstIndex(of: lower) { return place }
        if lower.hasSuffix(".labels") || lower.hasSuffix(".names") { return usual.count }
        guard let form = [".txt", ".csv", ".json"].first(where: lower.hasSuffix) else { return nil }
        // `mobilenet_v1_1.0_224_labels.txt`, `labels_mobilenet_quant_v1_224.txt`.
        let stem = lower.dropLast(form.utf8.count)
        let isNamed = ["labels", "classes", "class_names", "label_list", "synset_words", "categories"].contains {
            word in
            ["_", "-"].contains { stem.hasSuffix($0 + word) || stem.hasPrefix(word + $0) }
        }
        return isNamed || stem.hasSuffix("clsidx_to_labels") ? usual.count : nil
    }

    private static let usual = [
        "labels.txt", "label.txt", "classes.txt", "class_names.txt", "class_labels.txt", "labelmap.txt",
        "labels.json", "classes.json", "id2label.json", "class_names.json", "class_labels.json", "label_map.json",
        "index_to_name.json", "idx_to_class.json", "class_to_idx.json", "class_indices.json", "label2id.json",
        "imagenet_classes.txt", "imagenet_labels.txt", "imagenetlabels.txt", "imagenet_class_index.json",
        "imagenet-simple-labels.json", "imagenet_slim_labels.txt", "imagenet1000_clsidx_to_labels.txt",
        "synset_words.txt", "synset.txt", "loc_synset_mapping.txt", "label_list.txt", "dict.txt", "names.txt",
        "labels.csv", "classes.csv", "class_names.csv", "class_map.csv", "labels.tsv", "categories.txt",
        "categories.json",
    ]

    /// - Parameter name: the file's name; its ending determines the format.
    package static func read(_ bytes: [UInt8], name: String) throws(FormatError) -> [String] {
        guard bytes.count <= maximumBytes else {
            throw FormatError("has \(bytes.count) bytes: the limit is \(maximumBytes)")
        }
        let lower = name.lowercased()
        if lower.hasSuffix(".json") { return try json(bytes) }
        guard let text = String(validating: bytes, as: UTF8.self)?.withoutByteOrderMark else {
            throw FormatError("is not UTF-8 text")
        }
        var lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }.map(
            String.init)
        // Empty lines at the end are not labels.
        while lines.last?.trimmed == "" { lines.removeLast() }
        guard !lines.isEmpty else { throw FormatError("has no names") }
        guard lines.count <= LabelTable.maximumLabels else {
            throw FormatError("has \(lines.count) names: the limit is \(LabelTable.maximumLabels)")
        }
        if lower.hasSuffix(".csv") { return try CSVLabels.read(lines, delimiter: CSVLine.delimiter(of: lines[0])) }
        if lower.hasSuffix(".tsv") { return try CSVLabels.read(lines, delimiter: 0x09) }
        // PyTorch's lists of ImageNet are in Python's notation.
        if lines.first?.trimmed.hasPrefix("{") == true, lines.last?.trimmed.hasSuffix("}") == true {
            return try LabelTable.read(try PythonLiteral.read(text), skips: true)
        }
        return try LabelLines.names(lines)
    }

    /// The contents of a file that reads back as these names: one on each line, or JSON if lines would be read
    /// differently.
    package static func written(_ names: [String]) -> (ending: String, bytes: [UInt8]) {
        let lines = Array((names.joined(separator: "\n") + "\n").utf8)
        if (try? read(lines, name: ".txt")) == names { return (".txt", lines) }
        var writer = JSONWriter()
        writer.array { writer in
            for name in names { writer.string(name) }
        }
        return (".json", writer.bytes)
    }

    private static func json(_ bytes: [UInt8]) throws(FormatError) -> [String] {
        var value = try JSONFile.read(bytes)
        if case .object(let members) = value {
            // A whole configuration, or one list under its own name.
            for key in [
                "id2label", "labels", "classes", "names", "class_names", "categories", "idx_to_class", "class_to_idx",
                "label2id",
            ] {
                if let inner = members[key] {
                    switch inner {
                    case .array, .object: value = inner
                    default: continue
                    }
                    break
                }
            }
        }
        return try LabelTable.read(value, skips: true)
    }
}

import Foundation

/// The table of expected top labels in ../shared/data/README.md, read from that file.
public enum ExpectedLabels {
    /// One row: a model, a picture, and its top class.
    public struct Row: Sendable, CustomStringConvertible {
        public let model: String, picture: String, index: Int, label: String, confidence: Double
        /// The model and the picture.
        public var description: String { "\(model)/\(picture)" }
        /// The tolerance of the confidence. It is larger for integer models, because their scores move in steps.
        public var tolerance: Double { model.contains("quant") || model.contains("int8") ? 0.08 : 0.05 }
    }

    /// The rows of the models that this processor computes exactly enough; see ``TestProcessor``.
    public static let rows = all.filter { !$0.model.contains("int8") || TestProcessor.hasVNNI }

    /// All rows; empty if the shared data is absent.
    public static let all: [Row] = {
        guard let readme = SharedData.folder?.appendingPathComponent("README.md"),
            let text = try? String(contentsOf: readme, encoding: .utf8)
        else { return [] }
        return text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5, let index = Int(cells[2]), let confidence = Double(cells[4]) else { return nil }
            return Row(model: cells[0], picture: cells[1], index: index, label: cells[3], confidence: confidence)
        }
    }()
}

package import FileFormats

/// A second opinion on the answers of Core ML's classical models: evaluates the text of a file itself, in double
/// precision, literally and slowly.
///
/// It covers trees, linear models, support vector machines, nearest neighbors, the steps that prepare features, and
/// pipelines of them. It shares no parser, table or arithmetic with `CoreMLImport`, so that a mistake there is not
/// repeated here. Networks and ML Programs are not covered: a second engine for the imported graph would share the
/// importer's mistakes.
package struct CoreMLReferee: Sendable {
    private let part: ModelPart
    /// The numbers and names of the file: the time of one row is about proportional to it.
    let size: Int

    /// The most numbers in all inputs together.
    private static let maximumWidth = 1 << 18

    /// The inputs that the file declares, in its order.
    package var inputs: [RefereeFeature] { part.interface.inputs }

    /// Reads a file, which may be damaged or hostile.
    /// - Throws: the reason why the file cannot be judged, as the end of a sentence.
    package init(_ source: ByteSource) throws(ImpossibleJudgment) {
        let text = WireText(source)
        part = try ModelPart(WireMessage(text: text, range: 0..<source.count))
        size = text.count
        guard part.interface.inputs.reduce(0, { $0 + ($1.width ?? 1) }) <= Self.maximumWidth else {
            throw ImpossibleJudgment("the inputs have more than \(Self.maximumWidth) numbers")
        }
        for input in part.interface.inputs {
            switch input.kind {
            case .array(_, nil): throw ImpossibleJudgment("the input \"\(input.name)\" has no fixed shape")
            case .other(let kind): throw ImpossibleJudgment("the input \"\(input.name)\" is of type \(kind)")
            default: break
            }
        }
    }

    private init(_ part: ModelPart, size: Int) { (self.part, self.size) = (part, size) }

    /// The file as the format's text may also be understood. An engine is right if it agrees with one of the readings
    /// on all rows.
    package var otherReading: CoreMLReferee? { part.otherReading.map { CoreMLReferee($0, size: size) } }

    /// The outputs for a row of all inputs. Those that the file does not define are missing or unjudged.
    package func evaluate(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        var row = row
        for input in inputs {
            guard let value = row[input.name] else { throw .unjudged("\"\(input.name)\" is omitted") }
            row[input.name] = try input.holding(value)
        }
        try part.advance(&row)
        var outputs: RefereeRow = [:]
        for output in part.interface.outputs { outputs[output.name] = row[output.name] }
        return outputs
    }

    /// Made-up rows on which mistakes are likely to show: values on the thresholds of trees and next to them, the
    /// examples of neighbors and the points between them, support vectors, missing values, unknown categories, zeros,
    /// large values. Equal seeds give equal rows.
    /// - Parameter maximum: the most rows; there are fewer for large files.
    package func trialRows(seed: UInt64, maximum: Int = 256) -> [RefereeRow] {
        let width = inputs.reduce(1) { $0 + ($1.width ?? 1) }
        let count = max(8, min(maximum, (1 << 24) / max(1, size &+ width), (1 << 21) / width))
        let marks = TrialMarks(part, inputs: inputs, limit: count)
        var rows = TrialRows(inputs: inputs, marks: marks, seed: seed)
        return rows.rows(count)
    }
}

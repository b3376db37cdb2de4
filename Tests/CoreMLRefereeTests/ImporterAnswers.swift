import CoreMLImport
import CoreMLReferee
import Testing

/// The importer's own evaluation of a file, as the engine that the referee judges.
struct ImporterAnswers {
    private let steps: ModelSteps
    private let description: InterfaceSpecification

    init(_ bytes: [UInt8]) throws {
        let specification = try ModelSpecification(Bytes(bytes))
        steps = try ModelSteps(specification)
        description = specification.description
    }

    /// The outputs for a row.
    /// - Throws: if the importer refuses the row.
    func callAsFunction(_ row: RefereeRow) throws -> [String: FeatureAnswer] {
        var run = StepRun(steps, inputs: row.compactMapValues(Self.data))
        guard case .done = try run.advance() else {
            Issue.record("the file asks for a graph")
            return [:]
        }
        var answers: [String: FeatureAnswer] = [:]
        for output in description.outputs {
            guard let data = run.table[output.name] else { continue }
            answers[output.name] = Self.answer(data)
        }
        return answers
    }

    private static func data(_ value: RefereeValue) -> FeatureData? {
        switch value {
        case .number(let number): .double(number.value)
        case .integer(let number): .int64(number)
        case .text(let text): .string(String(decoding: text, as: UTF8.self))
        case .array(let numbers): .array(NumberArray(numbers.map(\.value)))
        case .dictionary(let keys, let values):
            .dictionary(
                CategoryNumbers(
                    keys: keys.map { key in
                        if case .integer(let number) = key { .int64(number) } else { .string(key.description) }
                    }, values: values.map(\.value)))
        case .label, .unjudged: nil
        }
    }

    private static func answer(_ data: FeatureData) -> FeatureAnswer? {
        switch data {
        case .double(let number): .number(number)
        case .int64(let number): .integer(number)
        case .string(let text): .text(text)
        case .array(let array): .array(array.values)
        case .dictionary(let numbers):
            .dictionary(zip(numbers.keys, numbers.values).map { ($0.description, $1) })
        case .image: nil
        }
    }
}

/// The result of all trial rows of a file.
struct TrialResult {
    /// The first difference; nil if all answers agree.
    var difference: String?
    var judged = 0, unjudged: [String] = []
    var largest = 0.0

    /// Asks the referee and an engine on the referee's own rows, up to the first difference.
    init(_ referee: CoreMLReferee, seed: UInt64, _ engine: (RefereeRow) throws -> [String: FeatureAnswer]) {
        var comparison = AnswerComparison()
        for row in referee.trialRows(seed: seed) where difference == nil {
            do throws(RowProblem) {
                let expected = try referee.evaluate(row)
                judged += 1
                guard let answers = try? engine(row) else {
                    difference = "the engine refuses \(row)"
                    continue
                }
                if let found = comparison.difference(answers, from: expected) {
                    difference = "\(found) for \(row)"
                }
            } catch {
                switch error {
                case .unjudged(let reason): unjudged.append(reason)
                case .refused(let reason):
                    judged += 1
                    if (try? engine(row)) != nil { difference = "answers, but \(reason)" }
                }
            }
        }
        largest = comparison.largestDifference
    }
}

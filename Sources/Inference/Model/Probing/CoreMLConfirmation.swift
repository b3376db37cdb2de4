internal import CoreMLImport
internal import CoreMLReferee
internal import Dispatch
internal import EngineImporters
internal import FileFormats
internal import SystemSupport

/// Compares a loaded Core ML model with the referee, which evaluates the file's text independently of the importer.
///
/// The rows are the referee's, and equal at each load, so that a file does not fail now and then.
package struct CoreMLConfirmation {
    /// The model file or package.
    let path: String
    let compiled: any CompiledModel

    /// The nanoseconds after which no further row runs, and the number of rows that run in any case.
    private static let time: UInt64 = 500_000_000, fewestRows = 4
    private static let seed: UInt64 = 1

    package enum Outcome: Sendable, Hashable {
        /// All rows agree; the largest difference is a fraction of the largest number of an output.
        case confirmed(rows: Int, largestDifference: Double)
        /// An answer is wrong, for this reason, as the end of a sentence.
        case differs(String)
        /// The model could not be compared, for this reason, as the end of a sentence.
        case impossible(String)
    }

    package init(path: String, compiled: any CompiledModel) {
        self.path = path
        self.compiled = compiled
    }

    /// The reason that the referee does not judge a file, such as one of a network, as the end of a sentence; nil if it
    /// does. Reads the parts of the file that it needs.
    /// - Parameter model: the path of the file in a package.
    static func obstacle(_ model: String) -> String? {
        guard let file = try? OpenFile(model) else { return "the file cannot be read" }
        do throws(ImpossibleJudgment) {
            _ = try CoreMLReferee(ByteSource(count: file.size) { file.bytes($0) })
            return nil
        } catch {
            return error.reason
        }
    }

    /// Runs the model on the referee's rows. Blocks.
    package func outcome() -> Outcome {
        guard let model = try? CoreMLFile.modelPath(path), let file = try? OpenFile(model) else {
            return .impossible("the file cannot be read")
        }
        let referee: CoreMLReferee
        do throws(ImpossibleJudgment) {
            referee = try CoreMLReferee(ByteSource(count: file.size) { file.bytes($0) })
        } catch {
            return .impossible(error.reason)
        }
        do throws(EngineError) {
            let request = try compiled.makeRequest()
            let outcome = try outcome(referee, request)
            if case .differs = outcome, let other = referee.otherReading,
                case .confirmed(let rows, let difference) = try self.outcome(other, request)
            {
                return .confirmed(rows: rows, largestDifference: difference)
            }
            return outcome
        } catch {
            return .impossible(error.message)
        }
    }

    private func outcome(_ referee: CoreMLReferee, _ request: any InferRequest) throws(EngineError) -> Outcome {
        let start = MonotonicInstant.now
        var comparison = AnswerComparison()
        var judged = 0
        var reason: String?
        for (index, row) in referee.trialRows(seed: Self.seed).enumerated() {
            guard index < Self.fewestRows || MonotonicInstant.now.nanoseconds(since: start) < Self.time else { break }
            switch Result(catching: { () throws(RowProblem) in try referee.evaluate(row) }) {
            case .success(let expected):
                switch try run(request, row, reads: expected) {
                case .answers(let answers):
                    if let difference = comparison.difference(answers, from: expected) { return .differs(difference) }
                case .refusal(let detail): return .differs("it refuses a row that the file accepts: \(detail)")
                }
            case .failure(.refused(let refusal)):
                if case .answers = try run(request, row, reads: [:]) {
                    return .differs("it answers a row that the file refuses: \(refusal)")
                }
            case .failure(.unjudged(let unjudged)):
                reason = reason ?? unjudged
                continue
            }
            judged += 1
        }
        guard judged > 0, comparison.compared > 0 else {
            return .impossible(reason ?? "the file does not define its outputs")
        }
        return .confirmed(rows: judged, largestDifference: comparison.largestDifference)
    }

    private enum Run {
        case answers([String: FeatureAnswer])
        /// The model took the values of the row for a client's mistake.
        case refusal(String)
    }

    /// Runs the model on a row, and reads the outputs that `expected` has.
    private func run(
        _ request: any InferRequest, _ row: RefereeRow, reads expected: RefereeRow
    ) throws(EngineError) -> Run {
        for (index, port) in compiled.inputs.enumerated() {
            guard let value = row[port.name] else { continue }
            try request.setInput(index, to: try tensor(value, port))
        }
        do throws(EngineError) {
            let ended = DispatchSemaphore(value: 0)
            try request.start { ended.signal() }
            ended.wait()
            try request.finish()
        } catch {
            guard error.kind == .invalidInput else { throw error }
            return .refusal(error.detail)
        }
        var answers: [String: FeatureAnswer] = [:]
        for (index, port) in compiled.outputs.enumerated() {
            if case .unjudged? = expected[port.name] { continue }
            if expected[port.name] != nil { answers[port.name] = try answer(request, index, port) }
        }
        return .answers(answers)
    }

    private func tensor(_ value: RefereeValue, _ port: TensorPort) throws(EngineError) -> any EngineTensor {
        var count = 1
        if case .array(let numbers) = value { count = numbers.count }
        let tensor = try compiled.makeTensor(
            elementType: port.elementType, shape: port.shape.isStatic ? port.shape : [count])
        switch value {
        case .integer(let number) where port.elementType == .int64 && tensor.bytes.count >= 8:
            // Not through a floating-point number, which holds 53 bits.
            tensor.bytes.storeBytes(of: number, as: Int64.self)
        case .integer(let number): fill(tensor, [Double(number)])
        case .number(let number): fill(tensor, [number.value])
        case .array(let numbers): fill(tensor, numbers.map(\.value))
        default: (tensor as? FeatureTensor)?.set(FeatureData(value))
        }
        return tensor
    }

    private func fill(_ tensor: any EngineTensor, _ values: [Double]) {
        for (place, value) in values.enumerated() {
            ElementConversion.write(value, at: place, as: tensor.elementType, to: tensor.bytes)
        }
    }

    private func answer(
        _ request: any InferRequest, _ index: Int, _ port: TensorPort
    ) throws(EngineError) -> FeatureAnswer {
        switch request.feature(index) {
        case .string(let text): return .text(text)
        case .int64(let number): return .integer(number)
        case .double(let number): return .number(number)
        case .dictionary(let entries): return .dictionary(entries.map { ($0.label, $0.value) })
        default: break
        }
        return .array(
            try request.withOutput(index) { _, raw in
                var values: [Double] = []
                ElementConversion.read(raw, as: port.elementType) { values.append($1) }
                return values
            })
    }
}

extension FeatureData {
    /// A string or a dictionary of a row; nil for other values.
    fileprivate init?(_ value: RefereeValue) {
        switch value {
        case .text(let bytes): self = .string(String(decoding: bytes, as: UTF8.self))
        case .dictionary(let keys, let values):
            let categories = keys.map { key -> CoreMLImport.Category in
                if case .integer(let number) = key { .int64(number) } else { .string(key.description) }
            }
            self = .dictionary(CategoryNumbers(keys: categories, values: values.map(\.value)))
        default: return nil
        }
    }
}

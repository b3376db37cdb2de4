internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import SystemSupport

/// Compares two engines on the parts of a file, each of few operators: in a whole network of rounded integers, the
/// error of one operator hides among the differences of correct kernels.
///
/// The referee computes the values between the parts, part by part. Then both engines run the parts on these values,
/// several at a time, in an order that spreads over the file, until the time has passed.
struct PartComparison: Sendable {
    private let comparison: EngineComparison
    private let parts: any FileParts
    /// The end of the time, in nanoseconds of the process's processor time; and a limit for the wait on a busy machine.
    private let end: UInt64, limit: MonotonicInstant
    /// The values between the parts, by pattern and tensor.
    private var tensors: [ProbePattern: [Int: EngineAnswer]] = [:]
    /// The answers with which ``tensors`` was filled, by part.
    private var computed: [Int: EngineRun] = [:]

    /// The processor time for all parts, in nanoseconds, and the maximum time. Processor time, so that the result does
    /// not depend on other programs.
    private static let time: UInt64 = 4_000_000_000, maximumTime = Duration.seconds(30)
    private static let patterns: [ProbePattern] = [.noise, .picture, .edges, .halves]
    /// The maximum number of bytes of the values between the parts.
    private static let maximumBytes = 256 << 20

    /// The result.
    struct Outcome {
        /// The error of the first engine, as the end of a sentence; nil if none was found.
        var fault: String?
        /// The number of parts that both engines ran with equal results.
        var compared = 0
    }

    init(_ comparison: EngineComparison, _ parts: any FileParts) {
        self.comparison = comparison
        self.parts = parts
        end = Self.processorTime + Self.time
        limit = .now + Self.maximumTime
    }

    /// Compares the parts, several at a time. Blocks.
    /// - Throws: if an engine has no threads; a part that an engine does not run proves nothing.
    mutating func outcome() throws(EngineError) -> Outcome {
        try compute()
        let order = Self.spread(parts.count), comparison = self
        let progress = Mutex(Progress(verdicts: Array(repeating: nil, count: order.count)))
        // Most of the time passes in the compiler of an engine, which uses one thread.
        let width = min(order.count, 4, ProcessInfo.processInfo.activeProcessorCount)
        DispatchQueue.concurrentPerform(iterations: width) { _ in
            while Self.processorTime < comparison.end, .now < comparison.limit,
                let place = progress.withLock({ $0.next() })
            {
                let verdict = Result { () throws(EngineError) in try comparison.verdict(of: order[place]) }
                progress.withLock { $0.add(verdict, at: place) }
            }
        }
        return try progress.withLock { $0 }.outcome()
    }

    /// The result for a part.
    private enum Verdict { case equal, notCompared, fault(String) }

    /// The parts that are compared, and their results in the order of their turns.
    private struct Progress: Sendable {
        var verdicts: [Result<Verdict, EngineError>?]
        private var turn = 0
        private var hasEnded = false

        init(verdicts: [Result<Verdict, EngineError>?]) { self.verdicts = verdicts }

        /// The turn of the next part; nil after the last, or if a fault was found.
        mutating func next() -> Int? {
            guard !hasEnded, turn < verdicts.count else { return nil }
            defer { turn += 1 }
            return turn
        }

        mutating func add(_ verdict: Result<Verdict, EngineError>, at turn: Int) {
            verdicts[turn] = verdict
            switch verdict {
            case .success(.equal), .success(.notCompared): break
            case .success(.fault), .failure: hasEnded = true
            }
        }

        /// The first fault by turn, so that the result does not depend on the number of processors.
        func outcome() throws(EngineError) -> Outcome {
            var outcome = Outcome()
            for case let verdict? in verdicts {
                switch try verdict.get() {
                case .equal: outcome.compared += 1
                case .notCompared: break
                case .fault(let text):
                    outcome.fault = text
                    return outcome
                }
            }
            return outcome
        }
    }

    /// Runs both engines on a part.
    /// - Throws: if an engine has no threads.
    private func verdict(of part: Int) throws(EngineError) -> Verdict {
        guard let kernels = computed[part] else { return .notCompared }
        do throws(EngineError) {
            guard let doubts = try doubts(of: part, kernels) else { return .notCompared }
            guard let doubt = doubts else { return .equal }
            guard parts.disclaimer(of: part) == nil else { return .notCompared }
            return .fault(
                "computes it wrongly: \(parts.operators(of: part)): \(doubt.text) for \(doubt.trial.pattern.words)")
        } catch {
            if error.kind == .noThreads { throw error }
            return .notCompared
        }
    }

    /// Computes the values between the parts, in half of the time.
    private mutating func compute() throws(EngineError) {
        let engine = comparison.referee.variant ?? comparison.referee.engine
        let middle = Self.processorTime + Self.time / 2
        var bytes = 0
        for part in 0..<parts.count where Self.processorTime < middle && .now < limit && bytes < Self.maximumBytes {
            do throws(EngineError) {
                guard let run = try run(part, on: engine) else { continue }
                computed[part] = run
                for (trial, outputs) in run.answers {
                    for (tensor, output) in zip(parts.tensors(of: part).outputs, outputs) {
                        tensors[trial.pattern, default: [:]][tensor] = output
                        bytes += output.memory?.count ?? 0
                    }
                }
            } catch {
                if error.kind == .noThreads { throw error }
            }
        }
    }

    /// Runs both engines on a part.
    /// - Parameter kernels: the answers of the referee's other kernels, if it has some.
    /// - Returns: nil if the part cannot be compared; a doubt that remains, or nil in its place.
    private func doubts(of part: Int, _ kernels: EngineRun) throws(EngineError) -> EngineDoubts.Doubt?? {
        let referee = comparison.referee
        let usual = referee.variant == nil ? kernels : try run(part, on: referee.engine)
        guard let usual, let found = try run(part, on: comparison.opened.engine) else { return nil }
        let names = parts.tensors(of: part).outputs.map { "\($0)" }
        var doubts = EngineDoubts(comparison.rule, outputs: names), count = 0
        for (trial, outputs) in found.answers {
            guard let expected = usual[trial] else { continue }
            doubts.add(outputs, expected, trial)
            count += 1
        }
        guard count > 0 else { return nil }
        let other = OtherRun(run: kernels, factor: AgreementRule.kernels, largestFactor: AgreementRule.largestInPart)
        let others = referee.variant == nil ? [] : [other]
        return .some(doubts.isOpen ? doubts.remaining(others: others, found, usual) : nil)
    }

    /// Runs an engine on a part.
    /// - Returns: nil if the values of an input are not known, or are of another shape.
    private func run(_ part: Int, on engine: any Engine) throws(EngineError) -> EngineRun? {
        let (inputs, outputs) = parts.tensors(of: part)
        return try parts.withFile(of: part) { path throws(EngineError) in
            var source = ModelSource(path: path)
            source.allowsIntegerWeights = comparison.source.allowsIntegerWeights
            let file = try engine.read(source)
            guard file.inputs.count == inputs.count, file.outputs.count == outputs.count,
                zip(file.inputs, inputs).allSatisfy({ isKnown($1, as: $0) })
            else { return nil }
            var options = comparison.options
            options.inputShapes = [:]
            let runner = EngineRunner(
                try file.compile(options),
                inputs: file.inputs.enumerated().map {
                    EngineRunner.Port(index: $0.offset, type: $0.element.elementType, shape: $0.element.shape)
                },
                outputs: file.outputs.enumerated().map {
                    EngineRunner.Port(index: $0.offset, type: $0.element.elementType)
                },
                maximum: .max, time: .seconds(5)
            ) { position, tensor, trial, _ in fill(tensor, inputs[position], trial.pattern) }
            var run = EngineRun()
            for pattern in Self.patterns { _ = try run.run(EngineTrial(pattern: pattern), runner) }
            return run.answers.isEmpty ? nil : run
        }
    }

    private func isKnown(_ tensor: Int, as port: TensorPort) -> Bool {
        guard port.shape.isStatic, port.elementType != .string else { return false }
        if input(tensor) != nil { return true }
        return Self.patterns.allSatisfy { pattern in
            guard let answer = tensors[pattern]?[tensor] else { return false }
            return answer.type == port.elementType && answer.shape == port.shape && answer.memory != nil
        }
    }

    /// The position in the plan of a tensor that is an input of the model; nil for other tensors.
    private func input(_ tensor: Int) -> Int? {
        guard let index = parts.modelInputs.firstIndex(of: tensor) else { return nil }
        return comparison.plan.inputs.firstIndex { $0.index == index }
    }

    private func fill(_ memory: any EngineTensor, _ tensor: Int, _ pattern: ProbePattern) {
        if let position = input(tensor) {
            pattern.fill(memory, plan: comparison.plan.inputs[position], comparison.inputs[position])
        } else if let bytes = tensors[pattern]?[tensor]?.memory, bytes.count == memory.bytes.count {
            memory.bytes.copyBytes(from: bytes)
        }
    }

    /// The processor time of this process, all threads together, in nanoseconds.
    private static var processorTime: UInt64 {
        var time = timespec()
        // Cannot fail: the clock exists on every Linux.
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
    }

    /// The numbers below a count in an order that spreads: 0, the middle, the quarters, the eighths.
    static func spread(_ count: Int) -> [Int] {
        guard count > 1 else { return Array(0..<max(0, count)) }
        let bits = Int.bitWidth - (count - 1).leadingZeroBitCount
        return (0..<1 << bits).compactMap { number in
            var reversed = 0
            for bit in 0..<bits where number & 1 << bit != 0 { reversed |= 1 << (bits - 1 - bit) }
            return reversed < count ? reversed : nil
        }
    }
}

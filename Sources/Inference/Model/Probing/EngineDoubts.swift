/// The outputs in which the first engine differs from the referee by more than the tolerance.
struct EngineDoubts {
    struct Doubt {
        let trial: EngineTrial
        /// The position of the output.
        let output: Int
        /// The difference in words: `output "y" has 1.0 instead of 2.0`.
        let text: String
    }

    private let rule: AgreementRule
    private let names: [String]
    private var doubts: [Doubt] = []
    /// The largest difference as a fraction of an output's range, of all values that were compared.
    private(set) var largest = 0.0

    init(_ rule: AgreementRule, outputs names: [String]) {
        self.rule = rule
        self.names = names
    }

    var isOpen: Bool { !doubts.isEmpty }
    var first: Doubt? { doubts.first }

    /// Compares the answers to one trial.
    mutating func add(_ found: [EngineAnswer], _ expected: [EngineAnswer], _ trial: EngineTrial) {
        for (output, (a, b)) in zip(found, expected).enumerated() {
            func add(_ text: String) {
                doubts.append(Doubt(trial: trial, output: output, text: "output \"\(names[output])\" has \(text)"))
            }
            guard a.shape == b.shape else {
                add("shape \(a.shape) instead of \(b.shape)")
                continue
            }
            let outcome = rule.compare(a, b, trial.pattern)
            largest = max(largest, outcome.largest)
            if let (x, y) = outcome.worst { add("\(Self.text(x, b.type)) instead of \(Self.text(y, b.type))") }
        }
    }

    private static func text(_ value: Double, _ type: ElementType) -> String {
        guard !type.isFloatingPoint, let integer = Int64(exactly: value) else { return "\(Float(value))" }
        return "\(integer)"
    }

    /// The first doubt that other answers of the referee do not settle; nil if they settle all.
    func remaining(others: [OtherRun], _ found: EngineRun, _ expected: EngineRun) -> Doubt? {
        // Where the referee's own answers have different shapes, another shape is no error.
        let ofShapes = doubts.first { doubt in
            guard let b = expected[doubt.trial]?[doubt.output], found[doubt.trial]?[doubt.output].shape != b.shape
            else {
                return false
            }
            return !others.contains { $0.run[doubt.trial].map { $0[doubt.output].shape != b.shape } ?? false }
        }
        if let ofShapes { return ofShapes }
        for output in names.indices {
            let doubted = doubts.filter { $0.output == output }
            guard let first = doubted.first, let type = expected[first.trial]?[output].type else { continue }
            var yardstick = Yardstick(rule, type, others)
            for (trial, outputs) in expected.answers {
                let isDoubted = doubted.contains { $0.trial == trial }
                let a = isDoubted ? found[trial]?[output] : nil
                yardstick.add(
                    a?.shape == outputs[output].shape ? a : nil, outputs[output],
                    others: others.map { $0.run[trial]?[output] }, trial.pattern)
            }
            if !yardstick.explains { return first }
        }
        return nil
    }
}

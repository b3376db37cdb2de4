/// The training parameters of an update request; nil uses the value of the file.
package struct UpdateChoices: Sendable, Equatable {
    package var epochs: Int?
    package var learningRate: Double?
    package var miniBatch: Int?
    package var seed: Int?

    package init(epochs: Int? = nil, learningRate: Double? = nil, miniBatch: Int? = nil, seed: Int? = nil) {
        (self.epochs, self.learningRate, self.miniBatch, self.seed) = (epochs, learningRate, miniBatch, seed)
    }

    /// The valid number of epochs.
    package static let epochRange = 1...1000
}

/// The training parameters of a network: those of NetworkUpdateParameters, with the choices of a request.
package struct UpdatePlan: Sendable, Equatable {
    package var epochs: Int
    package var miniBatch: Int
    package var learningRate: Double
    package var shuffles: Bool
    package var seed: Int
    package var optimizer: Optimizer

    package enum Optimizer: Sendable, Equatable {
        case sgd(momentum: Double)
        case adam(beta1: Double, beta2: Double, epsilon: Double)
    }
}

/// The NetworkUpdateParameters of a file (NeuralNetwork.proto): default and allowed values.
struct UpdateParameters: Sendable {
    let loss: Loss
    private let epochs: IntegerParameter, miniBatch: IntegerParameter, seed: IntegerParameter?
    private let learningRate: NumberParameter
    private let shuffles: Bool
    private let optimizer: UpdatePlan.Optimizer

    struct Loss: Sendable {
        var name: String, input: String, target: String
        var isCrossEntropy: Bool
    }

    /// - Throws: a problem without a location.
    init(_ message: Message) throws(Problem) {
        let losses = try message.messages(1)
        guard losses.count == 1, let loss = losses.first else {
            throw Problem("\(losses.count) loss layers: expected one", at: "lossLayers")
        }
        let isCrossEntropy = loss.has(10)
        guard let function = try loss.message(isCrossEntropy ? 10 : 11) else {
            throw Problem(
                "unknown loss function: expected categorical cross-entropy or mean squared error", at: "lossLayers[0]")
        }
        self.loss = Loss(
            name: try loss.string(1), input: try function.string(1), target: try function.string(2),
            isCrossEntropy: isCrossEntropy)
        let choice = try message.message(2) ?? .empty
        if let sgd = try choice.message(10) {
            let momentum = sgd.has(3) ? try NumberParameter(sgd.message(3), "momentum").chosen(nil) : 0
            optimizer = .sgd(momentum: momentum)
        } else if let adam = try choice.message(11) {
            optimizer = .adam(
                beta1: try Self.decay(adam, 3, "beta1"), beta2: try Self.decay(adam, 4, "beta2"),
                epsilon: try NumberParameter(adam.message(5), "eps").chosen(nil))
        } else {
            throw Problem("the optimizer is unknown: expected SGD or Adam", at: "optimizer")
        }
        let parameters = if let sgd = try choice.message(10) { sgd } else { try choice.message(11) ?? .empty }
        learningRate = try NumberParameter(parameters.message(1), "learning_rate")
        miniBatch = try IntegerParameter(parameters.message(2), "mini_batch")
        epochs = try IntegerParameter(message.message(3), "epochs")
        shuffles = try message.message(10)?.bool(1) ?? false
        seed = message.has(20) ? try IntegerParameter(message.message(20), "seed") : nil
    }

    private static func decay(_ message: Message, _ field: Int, _ name: String) throws(Problem) -> Double {
        let value = try NumberParameter(message.message(field), name).chosen(nil)
        guard (0..<1).contains(value) else { throw Problem("\(name) is \(value): expected 0 or more, below 1") }
        return value
    }

    /// The plan of an update.
    /// - Throws: the choice that the file does not allow, with the allowed values.
    func plan(_ choices: UpdateChoices) throws(Problem) -> UpdatePlan {
        let epochs = try self.epochs.chosen(choices.epochs)
        guard UpdateChoices.epochRange.contains(epochs) else {
            throw Problem("epochs is \(epochs)\(choices.epochs == nil ? " in the file" : ""): expected 1 to 1000")
        }
        let miniBatch = try self.miniBatch.chosen(choices.miniBatch)
        guard miniBatch >= 1 else { throw Problem("mini_batch is \(miniBatch): expected 1 or more") }
        let rate = try learningRate.chosen(choices.learningRate)
        guard rate > 0 else { throw Problem("learning_rate is \(rate): expected a number above 0") }
        let chosenSeed = if let seed { try seed.chosen(choices.seed) } else { choices.seed ?? 0 }
        return UpdatePlan(
            epochs: epochs, miniBatch: miniBatch, learningRate: rate, shuffles: shuffles,
            seed: chosenSeed, optimizer: optimizer)
    }
}

/// Int64Parameter (Parameters.proto): a default, and the range or set of allowed values.
struct IntegerParameter: Sendable {
    private let name: String
    private let value: Int
    private let range: ClosedRange<Int>?
    private let set: [Int]?

    init(_ message: Message?, _ name: String) throws(Problem) {
        guard let message else { throw Problem("\(name) is missing") }
        self.name = name
        value = try message.integer(1)
        set = try message.message(11)?.integers(1)
        if let range = try message.message(10) {
            let (low, high) = (try range.integer(1), try range.integer(2))
            guard low <= high else { throw Problem("the file allows no value of \(name): from \(low) to \(high)") }
            self.range = low...high
        } else {
            range = nil
        }
        if set?.isEmpty == true { throw Problem("the file allows no value of \(name): its set is empty") }
    }

    /// The choice of a request, or the file's default.
    func chosen(_ choice: Int?) throws(Problem) -> Int {
        let chosen = choice ?? value
        let what = choice == nil ? "the file's own \(name), \(chosen)," : "\(name) \(chosen)"
        if let set, !set.contains(chosen) {
            let allowed = set.prefix(20).map(String.init).joined(separator: ", ") + (set.count > 20 ? ", ..." : "")
            throw Problem("\(what) is not among the values that the file allows: \(allowed)")
        }
        if let range, !range.contains(chosen) {
            throw Problem(
                "\(what) is not in the range that the file allows: \(range.lowerBound) to \(range.upperBound)")
        }
        return chosen
    }
}

/// DoubleParameter (Parameters.proto): a default, and the range of allowed values.
struct NumberParameter: Sendable {
    private let name: String
    private let value: Double
    private let range: ClosedRange<Double>?

    init(_ message: Message?, _ name: String) throws(Problem) {
        guard let message else { throw Problem("\(name) is missing") }
        self.name = name
        value = try message.double(1)
        if let range = try message.message(10) {
            let (low, high) = (try range.double(1), try range.double(2))
            guard low <= high else { throw Problem("the file allows no value of \(name): from \(low) to \(high)") }
            self.range = low...high
        } else {
            range = nil
        }
    }

    /// The choice of a request, or the file's default.
    func chosen(_ choice: Double?) throws(Problem) -> Double {
        let chosen = choice ?? value
        let what = choice == nil ? "the file's own \(name), \(chosen)," : "\(name) \(chosen)"
        guard chosen.isFinite else { throw Problem("\(what) is not a finite number") }
        if let range, !range.contains(chosen) {
            throw Problem(
                "\(what) is not in the range that the file allows: \(range.lowerBound) to \(range.upperBound)")
        }
        return chosen
    }
}

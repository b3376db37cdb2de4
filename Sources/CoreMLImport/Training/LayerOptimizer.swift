internal import Glibc

/// SGD with momentum, and Adam (Kingma and Ba, 2015).
struct LayerOptimizer {
    private let plan: UpdatePlan
    private var first: [[Double]], second: [[Double]]
    private var steps = 0.0

    /// - Parameter counts: the number of parameters of each trained layer; 0 for others.
    init(_ plan: UpdatePlan, counts: [Int]) {
        self.plan = plan
        first = counts.map { [Double](repeating: 0, count: $0) }
        second = first
    }

    mutating func apply(_ gradients: [[Double]], to parameters: inout [[Double]]) {
        steps += 1
        let rate = plan.learningRate
        for layer in first.indices {
            for place in first[layer].indices {
                let gradient = gradients[layer][place]
                switch plan.optimizer {
                case .sgd(let momentum):
                    first[layer][place] = momentum * first[layer][place] + gradient
                    parameters[layer][place] -= rate * first[layer][place]
                case .adam(let beta1, let beta2, let epsilon):
                    first[layer][place] = beta1 * first[layer][place] + (1 - beta1) * gradient
                    second[layer][place] = beta2 * second[layer][place] + (1 - beta2) * gradient * gradient
                    let mean = first[layer][place] / (1 - pow(beta1, steps))
                    let spread = (second[layer][place] / (1 - pow(beta2, steps))).squareRoot()
                    parameters[layer][place] -= rate * mean / (spread + epsilon)
                }
            }
        }
    }
}

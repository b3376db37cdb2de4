/// A support vector machine that predicts a number (SVM.proto: `SupportVectorRegressor`): the weighted kernels minus
/// `rho`.
struct SupportVectorRegressor: ClassicalModel {
    private let weights: [Double]
    private let rho: Double
    private let inputs: SupportVectorInputs
    private let output: FeatureSpecification

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        let vectors = try SupportVectors(message, sparse: 2, dense: 3)
        inputs = try SupportVectorInputs(description, vectors: vectors)
        weights = try message.message(4)?.doubles(1) ?? []
        rho = try message.double(5)
        output = try description.regressorOutput()
        guard weights.count == vectors.count else {
            throw Problem("has \(vectors.count) support vectors and \(weights.count) coefficients")
        }
        try requireFinite(weights, "coefficients")
        try requireFinite([rho], "rho")
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        let kernels = try inputs.kernels(table)
        var sum = 0.0
        for (weight, kernel) in zip(weights, kernels) { sum += weight * kernel }
        return [output.name: .array(NumberArray([sum - rho]))]
    }
}

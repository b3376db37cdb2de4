/// The inputs, outputs and metadata of a Core ML model (Model.proto: ModelDescription).
package struct InterfaceSpecification: Sendable {
    package var inputs: [FeatureSpecification] = []
    package var outputs: [FeatureSpecification] = []
    /// State that persists between predictions (iOS 18).
    package var states: [FeatureSpecification] = []
    /// The output for a classifier's label or a regressor's number; empty if the file names no output.
    package var predictedFeatureName = ""
    /// The output for a classifier's dictionary of labels and probabilities; empty if the file names no output.
    package var predictedProbabilitiesName = ""
    package var metadata = ModelMetadata()
    /// The functions of an ML Program with several (iOS 18). Usually empty: `inputs` and `outputs` are those of "main";
    /// otherwise they are those of the default function.
    package var functions: [FunctionSpecification] = []
    package var defaultFunctionName = ""

    package init() {}

    init(_ message: Message) throws(Problem) {
        inputs = try FeatureSpecification.list(message.all(1), "input")
        outputs = try FeatureSpecification.list(message.all(10), "output")
        states = try FeatureSpecification.list(message.all(13), "state")
        predictedFeatureName = try message.string(11)
        predictedProbabilitiesName = try message.string(12)
        if let metadata = try message.message(100) { self.metadata = try ModelMetadata(metadata) }
        for function in try message.messages(20) { functions.append(try FunctionSpecification(function)) }
        defaultFunctionName = try message.string(21)
        // Such files declare features only in their functions.
        if inputs.isEmpty, outputs.isEmpty, let function = functions.first(where: { $0.name == defaultFunctionName }) {
            (inputs, outputs, states) = (function.inputs, function.outputs, function.states)
            predictedFeatureName = function.predictedFeatureName
            predictedProbabilitiesName = function.predictedProbabilitiesName
        }
    }
}

/// One of several functions of an ML Program.
package struct FunctionSpecification: Sendable {
    package var name: String
    package var inputs: [FeatureSpecification]
    package var outputs: [FeatureSpecification]
    package var states: [FeatureSpecification]
    package var predictedFeatureName: String
    package var predictedProbabilitiesName: String

    init(_ message: Message) throws(Problem) {
        name = try message.string(1)
        inputs = try FeatureSpecification.list(message.all(2), "input")
        outputs = try FeatureSpecification.list(message.all(3), "output")
        states = try FeatureSpecification.list(message.all(6), "state")
        predictedFeatureName = try message.string(4)
        predictedProbabilitiesName = try message.string(5)
    }
}

/// The author of a model, and its purpose.
package struct ModelMetadata: Sendable {
    package var shortDescription = ""
    package var version = ""
    package var author = ""
    package var license = ""
    /// In the order of the file.
    package var userDefined: [(key: String, value: String)] = []

    package init() {}

    init(_ message: Message) throws(Problem) {
        shortDescription = try message.string(1)
        version = try message.string(2)
        author = try message.string(3)
        license = try message.string(4)
        for entry in try message.messages(100) { userDefined.append((try entry.string(1), try entry.string(2))) }
    }
}

import CoreMLImport
import EngineImporters
import FileFormats
import FoundationEssentials
import Glibc
import JSON
import Synchronization
package import SystemSupport

/// Updates a Core ML file that is updatable (`isUpdatable`): loads the layers before the trainable part, which compute
/// the features of examples, and trains the rest on these.
package struct ModelUpdater: Sendable {
    private let updatable: UpdatableModel
    private let features: Model
    /// The path of the model file to update.
    package let file: String

    /// The target of an example, in the form of the request.
    package enum Goal: Sendable, Hashable {
        case text(String)
        case integer(Int64)
        case numbers([Double])
    }

    /// The form of an example's goal.
    package enum GoalKind: Sendable, Hashable {
        case text, integer, numbers
    }

    /// The parameters that a request sets; nil uses the file's own value.
    package struct Choices: Sendable, Hashable {
        package var epochs: Int?
        package var learningRate: Double?
        package var miniBatch: Int?
        package var seed: Int?

        package init() {}
    }

    /// The allowed numbers of epochs.
    package static let epochRange = UpdateChoices.epochRange

    /// The parameters of an update.
    package struct Plan: Sendable {
        let plan: UpdatePlan?
        /// The number of epochs; 0 for nearest neighbours.
        package var epochs: Int { plan?.epochs ?? 0 }
    }

    /// The examples added so far, with their features.
    package struct Examples: Sendable {
        var list: [UpdatableModel.Example] = []
        var shape: [Int] = []
        private var numbers = 0
        private let maximumNumbers: Int

        /// - Parameter maximumBytes: the limit on the features of all examples together.
        package init(maximumBytes: Int = 1 << 30) { maximumNumbers = maximumBytes / MemoryLayout<Float>.size }
        package var count: Int { list.count }

        mutating func append(_ array: MultiArray, _ goal: UpdatableModel.Goal) throws(UpdateError) {
            if list.isEmpty { shape = array.shape.dimensions }
            guard shape == array.shape.dimensions else {
                throw .invalid("has features of shape \(array.shape), the examples before of \(Shape(shape))")
            }
            numbers += array.count
            guard numbers <= maximumNumbers else {
                throw .invalid(
                    "the features of \(count + 1) examples need more than \(maximumNumbers >> 18) MiB: give fewer")
            }
            list.append(UpdatableModel.Example(features: array.doubles.map { Float($0) }, target: goal))
        }
    }

    /// A finished update: the file's new bytes, and the loss of each epoch.
    package struct Outcome: Sendable {
        package let bytes: [UInt8]
        package let losses: [Double]
    }

    /// Reads an updatable file, and loads the model that computes its features. Blocks for part of the time.
    /// - Parameters:
    ///   - path: a .mlmodel file, or a bundle with one.
    ///   - configuration: the settings for loading models.
    ///   - links: the places that links of the bundle may lead to.
    package static func load(
        _ path: String, _ configuration: ModelConfiguration, links: LinkPolicy = .anywhere
    ) async throws(UpdateError) -> ModelUpdater {
        let path = FilePath.absolute(path)
        let prepared = await LoaderThread.run { prepare(path, links) }
        let (updatable, file, folder) = try prepared.get()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = configuration
        // It is used for one update, for one example at a time.
        configuration.instances = 1
        configuration.comparesStreams = false
        configuration.singleStream = .never
        configuration.compile.cacheDirectory = nil
        configuration.loadCheck = nil
        configuration.links = .anywhere
        do throws(InferenceError) {
            return ModelUpdater(
                updatable: updatable, features: try await Model.load(contentsOf: folder, configuration: configuration),
                file: file)
        } catch {
            throw .inference(error)
        }
    }

    /// The updatable file, its path, and a temporary bundle with its feature model.
    private static func prepare(
        _ path: String, _ links: LinkPolicy
    ) -> Result<(UpdatableModel, String, String), UpdateError> {
        Result { () throws(UpdateError) in
            let bundle: ModelBundle
            do throws(InferenceError) { bundle = try ModelBundle(path: path, links: links) } catch {
                throw .inference(error)
            }
            let file = bundle.source.path
            guard CoreMLFile.isCoreML(file) else {
                throw .invalid("is not updatable: only Core ML files (.mlmodel) can be")
            }
            guard !file.hasEnding(ModelFormat.package) else {
                throw .invalid("is a package (.mlpackage): only .mlmodel files can be updated")
            }
            let updatable: UpdatableModel
            do throws(ImportError) {
                updatable = try CoreMLFile.updatable(file)
            } catch {
                throw .invalid("cannot be updated: \(error.description)")
            }
            return (updatable, file, try write(updatable.featureModel, besides: path))
        }
    }

    /// Writes a folder with the feature model, and a model.json with the `inputs` of the original.
    private static func write(_ model: [UInt8], besides path: String) throws(UpdateError) -> String {
        var template = Array((TemporaryFolder.place + "/ocelli-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .failed("cannot create a temporary folder: \(String(cString: strerror(errno)))")
        }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var inputs = ""
        if case .success(let text) = BundleFile.read(path + "/model.json", maximum: BundleFile.largestManifest),
            let found = ManifestInputs.text(text)
        {
            inputs = ",\"inputs\":\(found)"
        }
        let manifest =
            "{\"name\":\"features\",\"id\":\"features\",\"version\":\"1\",\"model\":{\"file\":\"features.mlmodel\",\"backend\":\"coreml\"}"
            + inputs + "}"
        do {
            try Data(model).write(to: URL(filePath: folder + "/features.mlmodel"))
            try Data(manifest.utf8).write(to: URL(filePath: folder + "/model.json"))
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw .failed("cannot write a temporary file: \(error)")
        }
        return folder
    }

    // MARK: Examples

    /// The inputs of examples.
    package var inputs: [FeatureDescription] { features.description.inputs }
    /// The name of the training input that takes an example's target.
    package var goalName: String { updatable.target.name }
    /// The form of an example's target.
    package var goalKind: GoalKind {
        switch updatable.target.kind {
        case .label(let isInteger): isInteger ? .integer : .text
        case .index: .integer
        case .numbers: .numbers
        }
    }

    /// The parameters that the update will use.
    /// - Throws: if the file does not allow a value; the error states the allowed values.
    package func plan(_ choices: Choices) throws(UpdateError) -> Plan {
        let given = UpdateChoices(
            epochs: choices.epochs, learningRate: choices.learningRate, miniBatch: choices.miniBatch, seed: choices.seed
        )
        do throws(Problem) {
            return Plan(plan: try updatable.plan(given))
        } catch {
            throw .invalid(error.description)
        }
    }

    /// Computes the features of an example, and adds it.
    package func add(
        _ inputs: DictionaryFeatureProvider, _ goal: Goal, to examples: inout Examples, options: PredictionOptions
    ) async throws(UpdateError) {
        let prediction: Prediction
        do throws(InferenceError) {
            prediction = try await features.prediction(from: inputs, options: options)
        } catch {
            throw .inference(error)
        }
        guard case .multiArray(let array)? = prediction.featureValue(for: updatable.featureName) else {
            throw .failed("the model of the features gave no numbers")
        }
        let target: UpdatableModel.Goal
        switch (goal, updatable.target.kind) {
        case (.text(let text), .label): target = .label(.string(text))
        case (.integer(let number), .label): target = .label(.int64(number))
        case (.integer(let number), .index): target = .numbers([Double(number)])
        case (.numbers(let numbers), _): target = .numbers(numbers)
        case (.text, _): throw .invalid("expected \(goalKind), found a string")
        case (.integer(let number), .numbers): target = .numbers([Double(number)])
        }
        try examples.append(array, target)
    }

    // MARK: Training

    /// Trains on the examples on a separate thread; the calling task waits without blocking. A cancellation or the
    /// deadline ends the training.
    /// - Parameter progress: called on that thread with the number of each epoch, from 1, and its loss.
    package func updated(
        with examples: Examples, plan: Plan, deadline: MonotonicInstant? = nil,
        progress: @escaping @Sendable (Int, Double) -> Void = { _, _ in }
    ) async throws(UpdateError) -> Outcome {
        let flag = CancellationFlag()
        let updatable = updatable
        return try await withTaskCancellationHandler {
            await LoaderThread.run(lowPriority: true) { () -> Result<Outcome, UpdateError> in
                do throws(UpdateFailure) {
                    let outcome = try updatable.updated(
                        with: examples.list, shape: examples.shape, plan: plan.plan,
                        isCancelled: { flag.isSet || deadline.hasPassed },
                        progress: progress)
                    return .success(Outcome(bytes: outcome.bytes, losses: outcome.losses))
                } catch {
                    switch error {
                    case .problem(let problem): return .failure(.invalid(problem.description))
                    case .cancelled:
                        return .failure(
                            .inference(
                                flag.isSet ? .cancelled(stage: .inference) : .deadlineExceeded(stage: .inference)))
                    }
                }
            }
        } onCancel: {
            flag.set()
        }.get()
    }
}

/// The reason an update failed. Nothing has changed then.
package enum UpdateError: Error, Sendable {
    /// The request, the examples or the file are invalid: a sentence.
    case invalid(String)
    /// The new version exceeds the space for updates: a sentence.
    case full(String)
    /// An error of the feature model, the deadline or a cancellation.
    case inference(InferenceError)
    /// An error of the machine: a sentence.
    case failed(String)

    /// A sentence for the user.
    package var message: String {
        switch self {
        case .invalid(let text), .full(let text), .failed(let text): text
        case .inference(let error): error.message
        }
    }

    /// The error with words before the sentence, unless it is an error of the feature model.
    package func prefixed(_ words: String) -> UpdateError {
        switch self {
        case .invalid(let text): .invalid(words + text)
        case .full(let text): .full(words + text)
        case .failed(let text): .failed(words + text)
        case .inference: self
        }
    }
}

/// Converts the member "inputs" of a model.json, which may be JSON5, to JSON.
private enum ManifestInputs {
    static func text(_ manifest: Data) -> String? {
        // Loading the original has already reported any errors in it.
        guard case .object(let members)? = try? JSONValue.parse(manifest), let inputs = members["inputs"],
            let text = try? JSONEncoder().encode(inputs)
        else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}

/// A flag that tells another thread to stop its work.
final class CancellationFlag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}

internal import FoundationEssentials
internal import Glibc
internal import Inference
internal import JSON
internal import ServicePlanning
package import Settings
internal import Synchronization
internal import SystemSupport

/// Trains a TensorIO bundle with TensorFlow, in a separate process: `ocelli train`.
package struct BundleTraining: Sendable {
    /// The bundle, the batch and the options of one run.
    package struct Request: Sendable {
        package var bundle = "", batch = "", output = ""
        package var epochs: Int?
        /// The number of items of a batch; nil for all.
        package var batchSize: Int?
        /// True to take the items of each epoch in another order, which the seed determines.
        package var shuffles = false
        package var seed: Int?
        /// The program to use for Python.
        package var python: String?
        /// The time limit in seconds.
        package var timeout = 3600.0
        /// The memory limit in MiB.
        package var memory = 8192
        package var isJSON = false
        package var overwrites = false

        package init() {}
    }

    /// The maximum size of a file that the graph writes, in bytes.
    private static let maximumFileBytes = 4 << 30

    private let request: Request
    private let progress: @Sendable (String) -> Void
    private let output: BundleOutput

    /// Trains, and writes the new bundle.
    /// - Returns: the text to print.
    package static func run(
        _ request: Request, settings: Settings, progress: @escaping @Sendable (String) -> Void
    ) async throws -> String {
        let output = try BundleOutput(request.output, overwrites: request.overwrites, verb: "training")
        if let there = Self.identity(output.path), there == Self.identity(request.bundle) {
            throw CommandError(
                "\(output.path) is the bundle to train, which is never changed: choose another folder")
        }
        let training = BundleTraining(request: request, progress: progress, output: output)
        let process = TrainerProcess()
        return try await output.run(stopping: { process.stop() }, cleared: { progress("") }) {
            try await training.make(settings, process)
        }
    }

    private static func identity(_ path: String) -> [UInt64]? {
        var status = stat()
        return stat(path, &status) == 0 ? [UInt64(status.st_dev), UInt64(status.st_ino)] : nil
    }

    private func make(_ settings: Settings, _ process: TrainerProcess) async throws -> String {
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        let bundle: TrainingBundle
        do throws(InferenceError) {
            bundle = try TrainingBundle(path: request.bundle, limits: plan.modelConfiguration.imageLimits)
        } catch {
            throw CommandError(error.message)
        }
        let (work, python) = (output.work, try TrainerProcess.python(named: request.python))
        try OutputFile.makeFolder(work + "/tensors")
        let batch = try TrainingBatch(
            request.batch, for: bundle, size: request.batchSize, tensors: work + "/tensors", maximum: settings.maxBody)
        let copy = work + "/bundle"
        do {
            try FileManager.default.copyItem(atPath: bundle.path, toPath: copy)
        } catch {
            throw CommandError("\(bundle.path) cannot be copied: \(error)")
        }
        // It belongs to the variables before the training.
        try? FileManager.default.removeItem(atPath: copy + "/" + CalibrationFile.name)
        let variables = copy + bundle.model.dropFirst(bundle.path.count) + "/variables"
        let job = TrainerProcess.Job(
            model: bundle.model, inputs: batch.inputs, ops: bundle.operations, outputs: bundle.outputs,
            epochs: request.epochs ?? 1, items: batch.count, batch: min(request.batchSize ?? batch.count, batch.count),
            shuffle: request.shuffles, seed: request.seed ?? 0, result: variables, memory: request.memory << 20,
            file_size: Self.maximumFileBytes, log: work + "/log")
        let epochs = try await train(job, python, process)
        try output.place(copy)
        return request.isJSON ? Self.json(epochs) : text(epochs, batch.count)
    }

    /// Trains within the time limit. Returns the outputs of each epoch.
    private func train(
        _ job: TrainerProcess.Job, _ python: String, _ process: TrainerProcess
    ) async throws -> [[String: JSONValue]] {
        let timeout = request.timeout, isLate = Mutex(false)
        let clock = Task {
            try await Task.sleep(for: .seconds(timeout))
            isLate.withLock { $0 = true }
            process.stop()
        }
        defer { clock.cancel() }
        let (folder, show) = (output.work, progress)
        show("loading TensorFlow")
        return try await LoaderThread.run { () -> Result<[[String: JSONValue]], CommandError> in
            var epochs: [[String: JSONValue]] = []
            do throws(CommandError) {
                try process.run(job, python: python, folder: folder) { outputs in
                    epochs.append(outputs)
                    show("epoch \(epochs.count) of \(job.epochs)")
                }
                return .success(epochs)
            } catch {
                guard isLate.withLock({ $0 }) else { return .failure(error) }
                return .failure(
                    CommandError("training took longer than \(Units.duration(timeout)): allow more with --timeout"))
            }
        }.get()
    }

    private func text(_ epochs: [[String: JSONValue]], _ count: Int) -> String {
        let lines = epochs.enumerated().map { index, outputs in
            let values = outputs.sorted { $0.key < $1.key }.map { "\($0.key) \(Self.text($0.value))" }
            return "epoch \(index + 1): " + values.joined(separator: ", ")
        }
        return (lines + ["wrote \(output.path): \(count) item\(count == 1 ? "" : "s")"]).joined(separator: "\n")
    }

    private static func text(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        write(value, to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// The JSON text `{"epochs": [{output: value}]}`.
    private static func json(_ epochs: [[String: JSONValue]]) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("epochs")
            writer.array { writer in for outputs in epochs { write(.object(outputs), to: &writer) } }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Writes an output of a graph: numbers, texts, truth values, and arrays of them.
    private static func write(_ value: JSONValue, to writer: inout JSONWriter) {
        switch value {
        case .integer(let number): writer.integer(number)
        case .number(let number): writer.number(number)
        case .string(let text): writer.string(text)
        case .bool(let bool): writer.bool(bool)
        case .array(let elements): writer.array { writer in for element in elements { write(element, to: &writer) } }
        case .object(let members):
            writer.object { writer in
                for (key, member) in members.sorted(by: { $0.key < $1.key }) {
                    writer.key(key)
                    write(member, to: &writer)
                }
            }
        case .null: writer.null()
        }
    }
}

package import EngineAPI
internal import EngineONNXRuntime
package import FileFormats
internal import SystemSupport

/// Combines engines: OpenVINO with the importers for all formats, and the runtimes of some formats, if they are
/// installed, for the files that OpenVINO cannot run, or computes wrongly, or for which they are requested.
package final class ChoosingEngine: Engine {
    private let first: any Engine
    private let runtimes: [FormatRuntime]
    private let damage: @Sendable (String, ModelFormat) -> String?

    /// - Parameter damage: returns the reason that a file shows itself for which no engine can read it.
    package init(
        _ first: any Engine, runtimes: [FormatRuntime],
        damage: @escaping @Sendable (String, ModelFormat) -> String? = { _, _ in nil }
    ) {
        self.first = first
        self.runtimes = runtimes
        self.damage = damage
    }

    /// The version of the first engine. A model's load report states the engine that runs it.
    package var version: String { first.version }
    package var build: String { first.build }
    package var comparesStreams: Bool { first.comparesStreams }
    package func advice(on source: ModelSource, device: String) -> String? { first.advice(on: source, device: device) }

    package func availableDevices() throws(EngineError) -> [ComputeDevice] { try availableDevices(libraries: [:]) }

    /// The devices of all engines.
    /// - Parameter libraries: the paths of engines' libraries; an engine without an entry is left out if it is not
    ///   installed.
    /// - Throws: if OpenVINO, or a library that is named, cannot be used.
    package func availableDevices(
        libraries: [EnginePreference: String]
    ) throws(EngineError) -> [ComputeDevice] {
        var devices = try first.availableDevices()
        for runtime in runtimes {
            let path = libraries[runtime.preference] ?? ""
            if path.isEmpty {
                devices += (try? runtime.open("").availableDevices()) ?? []
            } else {
                devices += try runtime.open(path).availableDevices()
            }
        }
        return devices
    }

    package func read(_ source: ModelSource) throws(EngineError) -> any ModelFile { try open(source).file }

    package func open(_ source: ModelSource) throws(EngineError) -> OpenedModel {
        do throws(EngineError) {
            return try openFile(source)
        } catch {
            guard error.kind == .invalidModel,
                let reason = damage(source.path, ModelFormat(path: source.path))
            else { throw error }
            throw EngineError(kind: .invalidModel, operation: "read the model file", detail: reason)
        }
    }

    private func openFile(_ source: ModelSource) throws(EngineError) -> OpenedModel {
        let format = ModelFormat(path: source.path), preference = source.engine.preference
        let runtime = runtimes.first { $0.format == format }
        if source.engine.isRequired, let named = runtimes.first(where: { $0.preference == preference }),
            named.format != format
        {
            throw EngineError(
                kind: .invalidModel, operation: "read the model file with \(named.name)",
                detail: "\(named.name) reads \(named.files): leave \"engine\" to \"auto\" for this one")
        }
        guard let runtime else { return try withFirst(source, unconfirmed: format.unconfirmed) }
        switch preference {
        case .openvino: return try withFirst(source, unconfirmed: "OpenVINO is configured (engine)")
        case runtime.preference:
            return try opened(try runtime.engine(for: source), runtime, source, "it is configured (engine)")
        case _ where format == .onnx && ORTProvider.isGPU(source.device):
            return try opened(try runtime.engine(for: source), runtime, source, "the device is \(source.device)")
        case _ where format == .onnx:
            if let model = forManySizes(source, runtime) ?? dynamicallyQuantized(source, runtime) { return model }
            return try choose(source, runtime)
        default: return try choose(source, runtime)
        }
    }

    private func withFirst(_ source: ModelSource, unconfirmed reason: String) throws(EngineError) -> OpenedModel {
        OpenedModel(
            file: try first.read(source), engine: first, use: EngineUse(.openvino, version: first.version, reason: nil),
            confirmation: Confirmation(unconfirmed: reason))
    }

    private func opened(
        _ engine: any Engine, _ runtime: FormatRuntime, _ source: ModelSource, _ reason: String
    ) throws(EngineError) -> OpenedModel {
        OpenedModel(
            file: try engine.read(source), engine: engine,
            use: EngineUse(runtime.preference, version: engine.version, reason: reason),
            confirmation: .ownRuntime(engine.version))
    }

    /// Opens a file with open axes with its format's runtime, if the request saves memory; nil for other files, and if
    /// the runtime is missing or does not read the file, which is no fault of the file.
    private func forManySizes(_ source: ModelSource, _ runtime: FormatRuntime) -> OpenedModel? {
        guard source.engine.savesMemory, let engine = try? runtime.engine(for: source),
            let model = try? opened(engine, runtime, source, "it keeps less memory for pictures of many sizes"),
            model.file.inputs.contains(where: { $0.shape.dimensions.contains(Shape.dynamic) })
        else { return nil }
        return model
    }

    /// Opens a file that quantizes values by their own range as it runs; nil if its format's runtime is missing or does
    /// not read it. OpenVINO rounds some of these values to the next step. Each step is too small for the comparison of
    /// the whole, but a recognizer of text lost one of ten characters.
    private func dynamicallyQuantized(_ source: ModelSource, _ runtime: FormatRuntime) -> OpenedModel? {
        guard ONNXTraits.quantizesDynamically(source.path), let engine = try? runtime.engine(for: source)
        else { return nil }
        return try? opened(engine, runtime, source, "it rounds dynamically quantized values exactly")
    }

    // MARK: Choosing

    private func choose(_ source: ModelSource, _ runtime: FormatRuntime) throws(EngineError) -> OpenedModel {
        let own = Result { () throws(EngineError) in try runtime.engine(for: source) }
        // Without the format's runtime there is no choice, except for files that it has run before.
        if case .failure = own, EngineMemory.isEmpty(in: source.cacheFolder) {
            return try withoutRuntime(source, runtime, own)
        }
        guard let digest = EngineMemory.digest(of: source.path, format: runtime.format) else {
            return try withoutRuntime(source, runtime, own)
        }
        // If the builds of the engines or the processor have changed, the choice is made again, and a change is
        // reported.
        var change: String?
        if let decision = EngineMemory.decision(digest, in: source.cacheFolder) {
            let ranBefore = decision.engine == runtime.preference
            if ranBefore {
                change =
                    "other builds of the engines, or another processor, ran it on \(runtime.name), "
                    + "because \(decision.reason ?? "")"
            }
            switch own {
            case .failure(let error) where ranBefore:
                throw EngineError(
                    kind: .invalidModel, operation: "run the model file",
                    detail:
                        "\(runtime.name) ran it before, because \(decision.reason ?? "it was chosen"); now \(error.detail)"
                )
            case .failure: return try withoutRuntime(source, runtime, own)
            case .success(let engine) where decision.versions == versions(engine):
                let used: any Engine = ranBefore ? engine : first
                // A runtime that crashes on some files runs here only what it has confirmed.
                let isSafe = decision.confirmation.by != nil || !runtime.referee(engine, source).isFragile
                return OpenedModel(
                    file: try used.read(source), engine: used,
                    use: EngineUse(decision.engine, version: used.version, reason: decision.reason),
                    confirmation: decision.confirmation, alternative: ranBefore || !isSafe ? nil : engine)
            case .success: break
            }
        }
        guard case .success(let engine) = own else { return try withoutRuntime(source, runtime, own) }
        let question = EngineQuestion(runtime.referee(engine, source)) {
            [versions = versions(engine), change] finding in
            EngineMemory.keep(
                EngineMemory.Decision(
                    engine: finding.fault == nil ? .openvino : runtime.preference,
                    reason: finding.fault.map { "OpenVINO \($0)" } ?? change, versions: versions,
                    confirmation: finding.confirmation),
                on: digest, in: source.cacheFolder)
        }
        return try undecided(source, runtime, engine, question, change)
    }

    /// Reads a file with the first engine, for a comparison, or with the format's runtime if it cannot.
    /// - Parameter change: the reason that an earlier decision does not count; nil without one.
    private func undecided(
        _ source: ModelSource, _ runtime: FormatRuntime, _ engine: any Engine, _ question: EngineQuestion,
        _ change: String?
    ) throws(EngineError) -> OpenedModel {
        do throws(EngineError) {
            return OpenedModel(
                file: try first.read(source), engine: first,
                use: EngineUse(.openvino, version: first.version, reason: change), question: question,
                confirmation: Confirmation(unconfirmed: "it is not compared yet"), alternative: engine)
        } catch {
            if error.kind == .noThreads { throw error }
            let reason = "cannot read it: \(error.detail)"
            do throws(EngineError) {
                let model = try opened(engine, runtime, source, "OpenVINO \(reason)")
                question.decide(EngineFinding(fault: reason, model.confirmation))
                return model
            } catch let second {
                throw EngineError(
                    kind: second.kind, operation: "read the model file",
                    detail: "OpenVINO: \(error.detail); \(runtime.name): \(second.operation): \(second.detail)")
            }
        }
    }

    /// The circumstances of a decision. Earlier rules of the comparison found fewer errors, and engines may be right on
    /// one processor and wrong on another.
    private func versions(_ other: any Engine) -> [String] {
        [
            first.version, first.build, other.version, other.build, "Ocelli \(OcelliVersion.number), comparison 6",
            Processor.usedInstructions,
        ]
    }

    /// Reads a file with the first engine if the format's runtime is not available; if that fails, the error also
    /// states why the runtime is missing.
    private func withoutRuntime(
        _ source: ModelSource, _ runtime: FormatRuntime, _ own: Result<any Engine, EngineError>
    ) throws(EngineError) -> OpenedModel {
        let missing: String? = if case .failure(let error) = own { error.detail } else { nil }
        if let missing, let fault = runtime.fault(source), !fault.isOfOpenAxes {
            throw EngineError(
                kind: .invalidModel, operation: "run the model file",
                detail: "OpenVINO \(fault.clause), and \(runtime.name) cannot run it instead: \(missing)")
        }
        do throws(EngineError) {
            return try withFirst(
                source, unconfirmed: missing.map { "\(runtime.name): \($0)" } ?? "its files could not be read twice")
        } catch {
            guard let missing, error.kind != .noThreads else { throw error }
            throw EngineError(
                kind: error.kind, operation: error.operation,
                detail: "\(error.detail); \(runtime.name) may be able to run it, but \(missing)",
                problems: error.problems)
        }
    }
}

package import EngineAPI
internal import EngineONNXRuntime
internal import FileFormats

/// Combines two engines: OpenVINO with the importers for all formats, and ONNX Runtime, if it is installed, for the
/// ONNX files that OpenVINO cannot run or for which it is requested.
package final class ChoosingEngine: Engine {
    private let first: any Engine
    /// Returns ONNX Runtime, given the path of its library.
    private let second: @Sendable (String) throws(EngineError) -> any Engine

    package init(_ first: any Engine, second: @escaping @Sendable (String) throws(EngineError) -> any Engine) {
        self.first = first
        self.second = second
    }

    /// The version of the first engine. A model's load report states the engine that runs it.
    package var version: String { first.version }
    package var build: String { first.build }
    package var comparesStreams: Bool { first.comparesStreams }
    package func advice(on source: ModelSource, device: String) -> String? { first.advice(on: source, device: device) }

    package func availableDevices() throws(EngineError) -> [ComputeDevice] { try availableDevices(library: "") }

    /// The devices of both engines.
    /// - Parameter path: the path of ONNX Runtime's library; empty for the one included with Ocelli, if it exists.
    /// - Throws: if OpenVINO, or the library that `path` names, cannot be used.
    package func availableDevices(library path: String) throws(EngineError) -> [ComputeDevice] {
        let own = try first.availableDevices()
        guard !path.isEmpty else { return own + ((try? second("").availableDevices()) ?? []) }
        let others = try second(path).availableDevices()
        return own + others
    }

    package func read(_ source: ModelSource) throws(EngineError) -> any ModelFile { try open(source).file }

    package func open(_ source: ModelSource) throws(EngineError) -> OpenedModel {
        let request = source.engine
        guard ModelFormat(file: source.path) == .onnx else {
            guard request.preference != .onnxruntime else {
                throw EngineError(
                    kind: .invalidModel, operation: "read the model file with ONNX Runtime",
                    detail: "ONNX Runtime reads ONNX files (.onnx): leave \"engine\" to \"auto\" for this one")
            }
            return OpenedModel(file: try first.read(source), engine: first, use: use(.openvino, first, nil))
        }
        switch request.preference {
        case .openvino: return OpenedModel(file: try first.read(source), engine: first, use: use(.openvino, first, nil))
        case .onnxruntime: return try opened(second(request.library), source, "it is configured (engine)")
        case .auto where ORTProvider.isGPU(source.device):
            return try opened(second(request.library), source, "the device is \(source.device)")
        case .auto: return try choose(source)
        }
    }

    private func use(_ engine: EnginePreference, _ used: any Engine, _ reason: String?) -> EngineUse {
        EngineUse(engine, version: used.version, reason: reason)
    }

    private func opened(_ other: any Engine, _ source: ModelSource, _ reason: String) throws(EngineError) -> OpenedModel
    {
        OpenedModel(file: try other.read(source), engine: other, use: use(.onnxruntime, other, reason))
    }

    // MARK: Choosing

    private func choose(_ source: ModelSource) throws(EngineError) -> OpenedModel {
        let other = Result { () throws(EngineError) in try second(source.engine.library) }
        // Without the second engine there is no choice, except for files that it has run before.
        if case .failure = other, EngineMemory.isEmpty(in: source.cacheFolder) { return try withFirst(source, other) }
        guard let digest = EngineMemory.digest(of: source.path) else { return try withFirst(source, other) }
        // If the builds of the engines have changed, the choice is made again, and a change is reported.
        var change: String?
        if let decision = EngineMemory.decision(digest, in: source.cacheFolder) {
            if decision.engine == .onnxruntime {
                change = "other builds of the engines ran it on ONNX Runtime, because \(decision.reason ?? "")"
            }
            switch (decision.engine, other) {
            case (.onnxruntime, .failure(let error)):
                throw EngineError(
                    kind: .invalidModel, operation: "run the model file",
                    detail:
                        "ONNX Runtime ran it before, because \(decision.reason ?? "it was chosen"); now \(error.detail)"
                )
            case (.onnxruntime, .success(let other)) where decision.versions == versions(other):
                return remembering(decision, try opened(other, source, decision.reason ?? ""))
            case (.openvino, .failure): return try withFirst(source, other)
            case (.openvino, .success(let other)) where decision.versions == versions(other):
                return remembering(
                    decision,
                    OpenedModel(
                        file: try first.read(source), engine: first, use: use(.openvino, first, decision.reason)))
            default: break
            }
        }
        guard case .success(let engine) = other else { return try withFirst(source, other) }
        let question = EngineQuestion(other: engine) { [versions = versions(engine), change] finding in
            EngineMemory.keep(
                EngineMemory.Decision(
                    engine: finding.fault == nil ? .openvino : .onnxruntime,
                    reason: finding.fault.map { "OpenVINO \($0)" } ?? change, versions: versions,
                    shapes: finding.shapes, incomparable: finding.incomparable),
                on: digest, in: source.cacheFolder)
        }
        do throws(EngineError) {
            return OpenedModel(
                file: try first.read(source), engine: first, use: use(.openvino, first, change), question: question)
        } catch {
            if error.kind == .noThreads { throw error }
            let reason = "cannot read it: \(error.detail)"
            do throws(EngineError) {
                let model = try opened(engine, source, "OpenVINO \(reason)")
                question.decide(reason)
                return model
            } catch let second {
                throw EngineError(
                    kind: second.kind, operation: "read the model file",
                    detail: "OpenVINO: \(error.detail); ONNX Runtime: \(second.operation): \(second.detail)")
            }
        }
    }

    /// The circumstances of a decision. Earlier rules of the comparison left out other shapes and open axes.
    private func versions(_ other: any Engine) -> [String] {
        [first.version, first.build, other.version, other.build, "comparison 2"]
    }

    /// A model with the findings of an earlier load.
    private func remembering(_ decision: EngineMemory.Decision, _ model: OpenedModel) -> OpenedModel {
        var model = model
        model.use?.comparedAt = decision.shapes ?? []
        model.use?.incomparable = decision.incomparable
        return model
    }

    /// Reads a file with the first engine if the second is not available; if that fails, the error also states why the
    /// second is missing.
    private func withFirst(
        _ source: ModelSource, _ other: Result<any Engine, EngineError>
    ) throws(EngineError) -> OpenedModel {
        do throws(EngineError) {
            return OpenedModel(file: try first.read(source), engine: first, use: use(.openvino, first, nil))
        } catch {
            guard case .failure(let missing) = other, error.kind != .noThreads else { throw error }
            throw EngineError(
                kind: error.kind, operation: error.operation,
                detail: "\(error.detail); ONNX Runtime may be able to run it, but \(missing.detail)",
                problems: error.problems)
        }
    }
}

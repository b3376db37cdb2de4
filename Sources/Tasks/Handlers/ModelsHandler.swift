internal import Calibration
internal import FlowControl
internal import Drift
package import HTTPServer
internal import HTTPWire
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Repository
internal import ServiceCore
internal import Settings
internal import SystemSupport
internal import Teaching
package import WireFormats

/// Answers `GET /v1/models` and `GET /v1/models/{name}`.
package struct ModelsHandler: CallHandler {
    private let call: Call
    private let version: String?
    private var repository: ModelRepository { call.parts.repository }
    private var taught: TaughtModels? { call.parts.taught }

    package init(_ call: Call) throws(ServiceError) {
        self.call = call
        version = try call.version()
    }

    package func list(_: HTTPRequest) -> HTTPResponse {
        var writer = JSONWriter(capacity: 4096)
        let records = Dictionary(grouping: repository.records, by: \.name)
        writer.object { writer in
            writer.key("default")
            let usual = UnnamedModel.usual(.classification)
            if let name = try? usual.name(in: repository, configured: call.live.settings.defaultModel) {
                writer.string(name)
            } else {
                writer.null()
            }
            writer.key("models")
            writer.array { writer in
                for name in (records.keys + (taught?.names ?? [])).sorted() {
                    if let taught, taught.owns(name) {
                        write(taught, name, to: &writer)
                    } else {
                        write(records[name] ?? [], to: &writer)
                    }
                }
            }
        }
        return HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: writer.bytes)
    }

    package func describe(_: HTTPRequest) throws(ServiceError) -> HTTPResponse {
        let name = call.path.name
        var writer = JSONWriter(capacity: 4096)
        if let taught, taught.owns(name) {
            if let version, let model = taught.model(name) { try taught.checkVersion(version, of: model) }
            write(taught, name, to: &writer)
            return HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: writer.bytes)
        }
        let records: [ModelRecord]
        do throws(InferenceError) {
            records = try repository.records(of: name, version: version)
        } catch {
            throw ServiceError(error)
        }
        // The members for clients of TensorFlow Serving.
        let hasStatus = call.live.settings.dialects.contains(.tensorFlowServing)
        write(records, namesVersion: version != nil, hasStatus: hasStatus, to: &writer)
        return HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: writer.bytes)
    }

    /// Writes one model: the serving version, or otherwise the highest ready one, and the state of each version.
    /// - Parameter namesVersion: true if the request asks for these versions, whichever serves.
    private func write(
        _ records: [ModelRecord], namesVersion: Bool = false, hasStatus: Bool = false, to writer: inout JSONWriter
    ) {
        let serving = records.first.flatMap { repository.servingVersion(of: $0.name) }
        let ofServing = records.filter { $0.version == serving }
        guard
            let highest = ofServing.last(where: { $0.model != nil }) ?? ofServing.last
                ?? records.last(where: { $0.model != nil }) ?? records.last
        else { return }
        let reason = namesVersion ? nil : repository.reasonAgainstAll(of: highest.name)
        writer.object { writer in
            writer.key("name")
            writer.string(highest.name)
            writer.key("version")
            writer.string(highest.version)
            if let reason {
                writer.member("state", ModelState.failed(reason: reason).name)
                writer.member("reason", reason)
            } else {
                writeState(highest, to: &writer)
            }
            writer.key("versions")
            writer.array { writer in
                for record in records {
                    writer.object { writer in
                        writer.key("version")
                        writer.string(record.version)
                        writeState(record, to: &writer)
                    }
                }
            }
            writer.key("load")
            writer.string(highest.policy.rawValue)
            if hasStatus {
                ModelVersionStatus.write(records, isReady: reason == nil && highest.model != nil, to: &writer)
            }
            if let labels = highest.placeholder {
                writer.member("placeholder", true)
                writer.member("classes", labels)
                writer.member("labels", labels.count)
            }
            writeDrift(highest.name, to: &writer)
            if let model = highest.model { write(model, to: &writer) }
        }
    }

    /// Writes the state of a model that is watched for drift.
    func writeDrift(_ name: String, to writer: inout JSONWriter) {
        guard let monitors = call.parts.drift, monitors.isWatched(name) else { return }
        writer.member("drift", monitors.status(of: name).monitor.state.rawValue)
    }

    private func writeState(_ record: ModelRecord, to writer: inout JSONWriter) {
        writer.key("state")
        writer.string(record.state.name)
        if case .failed(let reason) = record.state {
            writer.key("reason")
            writer.string(reason)
        }
        if let time = record.loadingTime {
            writer.key("loading_ms")
            writer.milliseconds(UInt64(clamping: time.saturatedNanoseconds))
        }
        if let reason = record.staleReason {
            writer.key("stale")
            writer.string(reason)
        }
    }

    // Long: the members of one object in their order.
    private func write(_ model: Model, to writer: inout JSONWriter) {
        let description = model.description
        writer.key("metadata")
        writer.object { writer in
            for (key, value) in [
                ("name", description.name), ("id", description.identifier), ("description", description.details),
                ("author", description.author), ("license", description.license), ("backend", description.backend),
            ] {
                writer.key(key)
                writer.string(value)
            }
        }
        writer.key("inputs")
        writer.array { writer in for input in description.inputs { write(input, to: &writer) } }
        writer.key("outputs")
        writer.array { writer in for output in description.outputs { write(output, to: &writer) } }
        writer.key("labels")
        let found = model.tasks.lazy.compactMap { model.observationOutput(for: $0)?.labels }.first
        writer.integer((description.classLabels ?? found)?.count ?? 0)
        let tasks = model.tasks.isEmpty && model.embedsTexts ? [.embed] : model.tasks
        if !tasks.isEmpty { writer.member("tasks", tasks.map(\.rawValue)) }
        if let pipeline = model.pipeline {
            PipelineAnswer.write(pipeline, taughtVersion: { taught?.servingVersion(of: $0) }, to: &writer)
        }
        if let reader = model.reader { ReaderAnswer.write(reader, to: &writer) }
        if let words = model.words { WordsAnswer.write(words, to: &writer) }
        if let head = model.taughtClassifier {
            writer.key("taught")
            writer.object { writer in
                writer.member("method", head.method.rawValue)
                writer.member("dimension", head.dimension)
                writer.key("threshold")
                if let threshold = head.knownDistance { writer.number(threshold) } else { writer.null() }
            }
        }
        if let calibration = model.calibration {
            writer.key("calibration")
            writer.object { writer in
                writer.member("pictures", calibration.pictures)
                writer.member("temperature", calibration.temperature)
            }
        }
        writer.key("device")
        writer.string(model.loadReport.device)
        if let engine = model.loadReport.engine {
            writer.key("engine")
            writer.object { writer in
                writer.member("name", engine.name)
                writer.member("version", engine.version)
                if let reason = engine.reason { writer.member("reason", reason) }
                let confirmation = model.loadReport.confirmation
                if let by = confirmation.by { writer.member("confirmed_by", by) }
                if !confirmation.shapes.isEmpty { writer.member("compared_at", confirmation.shapes) }
                if let difference = confirmation.largestDifference {
                    writer.key("largest_difference")
                    writer.number(difference)
                }
                if let reason = confirmation.reason { writer.member("unconfirmed", reason) }
                writer.key("comparison_ms")
                writer.milliseconds(model.loadReport.engineComparison &+ model.loadReport.triedEngineComparison)
            }
        }
        writer.key("execution")
        write(model.loadReport, singleStream: model.singleStreamReport, to: &writer)
        if let weights = model.loadReport.integerWeights {
            writer.key("integer_weights")
            writer.object { writer in
                for (key, value) in [
                    ("convolutions", weights.convolutions), ("in_integers", weights.inIntegers),
                    ("depthwise_convolutions", weights.depthwiseConvolutions),
                    ("depthwise_in_integers", weights.depthwiseInIntegers),
                    ("copied_channels", weights.copiedChannels),
                ] {
                    writer.key(key)
                    writer.integer(value)
                }
                if let reason = weights.reason { writer.member("reason", reason) }
            }
        }
        if let goldens = model.loadReport.goldens {
            writer.key("goldens")
            writer.object { writer in
                writer.member("compared", goldens.compared)
                writer.member("agreed", goldens.agreed)
                if !goldens.differences.isEmpty { writer.member("differences", goldens.differences) }
            }
        }
        writer.key("load_ms")
        writer.milliseconds(model.loadReport.total)
        writer.key("cached")
        writer.bool(model.loadReport.isCached)
        writer.key("instances")
        writer.integer(model.instances)
        let limiter = model.limiter.snapshot
        writer.key("in_flight")
        writer.object { writer in
            for (key, value) in [
                ("now", limiter.inFlight), ("limit", limiter.limit), ("waiting", limiter.waiting),
                ("queue_length", limiter.queueCapacity),
            ] {
                writer.key(key)
                writer.integer(value)
            }
        }
        let statistics = model.statistics
        writer.key("predictions")
        writer.object { writer in
            for (key, total) in [("succeeded", statistics.success), ("failed", statistics.failure)] {
                writer.key(key)
                writer.integer(Int(clamping: total.count))
            }
        }
        if !model.loadReport.undecided.isEmpty { writer.member("undecided", model.loadReport.undecided) }
        if let provenance = model.provenance { ProvenanceAnswer.write(provenance, to: &writer) }
        if let options = model.options, let text = try? JSONBytes.encode(options) {
            writer.key("options")
            writer.raw(text)
        }
    }

    private func write(_ report: LoadReport, singleStream: SingleStreamReport?, to writer: inout JSONWriter) {
        let execution = report.execution
        writer.object { writer in
            for (key, value) in [("precision", execution.precision), ("hint", execution.hint)] {
                guard let value else { continue }
                writer.key(key)
                writer.string(value.lowercased())
            }
            for (key, value) in [("threads", execution.threads), ("streams", execution.streams)] {
                guard let value else { continue }
                writer.key(key)
                writer.integer(value)
            }
            writer.key("stream_check")
            writer.object { writer in
                writer.member("result", report.streamCheck.name)
                if let reason = report.streamCheck.reason { writer.member("reason", reason) }
                writer.key("ms")
                writer.milliseconds(report.comparison)
            }
            if let singleStream {
                writer.key("lone")
                write(singleStream, to: &writer)
            }
        }
    }

    /// Writes the variant for single-stream requests.
    private func write(_ singleStream: SingleStreamReport, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("state", singleStream.state.name)
            if case .failed(let reason) = singleStream.state { writer.member("reason", reason) }
            writer.member("threads", singleStream.threads)
            guard singleStream.state == .ready else { return }
            writer.key("load_ms")
            writer.milliseconds(singleStream.load)
            writer.key("cached")
            writer.bool(singleStream.isCached)
            if let bytes = singleStream.residentBytes { writer.member("memory_bytes", bytes) }
            writer.member("predictions", Int(clamping: singleStream.predictions))
        }
    }

    func write(_ feature: FeatureDescription, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("name")
            writer.string(feature.name)
            writer.key("type")
            writer.string(feature.kind.rawValue)
            writer.key("dtype")
            writer.string(feature.elementType.rawValue)
            writer.key("shape")
            writer.array { writer in for extent in feature.shape.dimensions { writer.integer(extent) } }
            if feature.fileShape != feature.shape {
                writer.key("file_shape")
                writer.array { writer in for extent in feature.fileShape.dimensions { writer.integer(extent) } }
            }
            FeatureChoices.write(feature, to: &writer)
            if let image = feature.image {
                writer.key("format")
                writer.string(image.channelOrder.rawValue)
                writer.key("layout")
                writer.string(image.layout.rawValue)
                writer.key("crop_and_scale")
                writer.string(image.cropAndScale.rawValue)
                // Sizes with a default are among `shapes`.
                if let size = image.openSize, size.usual == nil {
                    writer.key("open_size")
                    writer.object { writer in
                        for (key, side) in [
                            ("minimum", size.minimum), ("maximum", size.maximum), ("multiple", size.multiple),
                        ] {
                            writer.key(key)
                            writer.array { writer in for extent in [side.height, side.width] { writer.integer(extent) }
                            }
                        }
                    }
                }
                writer.key("normalize")
                writer.object { writer in
                    for (key, values) in [("scale", image.scale), ("bias", image.bias)] {
                        writer.key(key)
                        writer.array { writer in for value in values { writer.number(value) } }
                    }
                }
            }
            if let activation = feature.activation { writer.member("activation", activation) }
            if let labels = feature.labels {
                writer.key("labels")
                writer.integer(labels.count)
            }
        }
    }
}

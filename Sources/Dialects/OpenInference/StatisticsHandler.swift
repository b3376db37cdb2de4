internal import FlowControl
internal import FoundationEssentials
package import HTTPServer
internal import Inference
internal import JSON
internal import Repository
internal import ServiceCore
internal import SystemSupport
package import Tasks
package import WireFormats

/// Answers `GET /v2/models[/{name}[/versions/{v}]]/stats`: the statistics of each loaded version since its load.
package struct StatisticsHandler: CallHandler {
    private let call: Call

    package init(_ call: Call) throws(ServiceError) {
        try call.refuseTaught()
        self.call = call
    }

    package func respond(to _: HTTPRequest) throws(ServiceError) -> HTTPResponse {
        let repository = call.parts.repository, version = call.path.version
        let name = call.path.name.isEmpty ? nil : call.path.name
        let records: [ModelRecord]
        do throws(InferenceError) {
            records =
                try name.map { (name) throws(InferenceError) in try repository.records(of: name, version: version) }
                ?? repository.records
        } catch {
            throw ServiceError(error)
        }
        var writer = JSONWriter(capacity: 1024)
        writer.object { writer in
            writer.key("model_stats")
            writer.array { writer in
                for record in records where name != nil || record.model != nil { write(record, to: &writer) }
            }
        }
        return MetadataHandler.json(writer)
    }

    private func write(_ record: ModelRecord, to writer: inout JSONWriter) {
        let statistics = record.model?.statistics ?? ModelStatistics()
        writer.object { writer in
            writer.key("name")
            writer.string(record.name)
            writer.key("version")
            writer.string(record.version)
            writer.key("last_inference")
            writer.integer(Self.milliseconds(of: statistics.lastEnded))
            writer.key("inference_count")
            writer.integer(statistics.success.count)
            // It is smaller than inference_count if several items ran in one inference.
            writer.key("execution_count")
            writer.integer(statistics.executions)
            writer.key("inference_stats")
            writer.object { writer in
                for (key, total) in [
                    ("success", statistics.success), ("fail", statistics.failure), ("queue", statistics.queue),
                    ("compute_input", statistics.input), ("compute_infer", statistics.inference),
                    ("compute_output", statistics.output), ("cache_hit", ModelStatistics.Total()),
                    ("cache_miss", ModelStatistics.Total()),
                ] { write(key, total, to: &writer) }
            }
            writer.key("batch_stats")
            writer.array { writer in
                for batch in statistics.batches.sorted(by: { $0.size < $1.size }) {
                    writer.object { writer in
                        writer.key("batch_size")
                        writer.integer(batch.size)
                        write("compute_input", batch.input, to: &writer)
                        write("compute_infer", batch.inference, to: &writer)
                        write("compute_output", batch.output, to: &writer)
                    }
                }
            }
        }
    }

    private func write(_ key: String, _ total: ModelStatistics.Total, to writer: inout JSONWriter) {
        writer.key(key)
        writer.object { writer in
            writer.key("count")
            writer.integer(total.count)
            writer.key("ns")
            writer.integer(total.nanoseconds)
        }
    }

    /// A time of the monotonic clock as milliseconds since the epoch; 0 for never.
    private static func milliseconds(of moment: UInt64) -> UInt64 {
        guard moment > 0 else { return 0 }
        let ago = MonotonicInstant.now.nanoseconds(since: MonotonicInstant(nanoseconds: moment))
        return UInt64(max(0, Date().timeIntervalSince1970 * 1000 - Double(ago) / 1e6))
    }
}

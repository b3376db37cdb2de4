internal import Inference
internal import JSON
internal import Repository
internal import Rollout

/// Writes the JSON of a rollout: the members of rollout.json, and the rollout's state and results.
enum RolloutAnswer {
    static func json(_ status: ModelRepository.RolloutStatus) -> [UInt8] {
        let machine = status.view.machine, comparison = status.view.comparison
        var writer = JSONWriter(capacity: 2048)
        writer.object { writer in
            machine.plan.write(to: &writer)
            writer.key("serving")
            if let serving = status.serving { writer.string(serving) } else { writer.null() }
            writer.member("state", machine.state.rawValue)
            if let reason = status.view.problem ?? machine.record.reason { writer.member("reason", reason) }
            if !machine.record.rolledBack.isEmpty { writer.member("rolled_back", machine.record.rolledBack) }
            write(comparison, to: &writer)
        }
        return writer.bytes
    }

    private static func write(_ comparison: Comparison?, to writer: inout JSONWriter) {
        writer.member("compared", comparison?.compared ?? 0)
        writer.member("skipped", comparison?.skipped ?? 0)
        optional("agreement", comparison?.agreement, to: &writer)
        optional("latency_ratio", comparison?.latency.ratio, to: &writer)
        writer.member("decision", (comparison?.decision ?? .notYet).rawValue)
        writer.key("differences")
        writer.array { writer in
            for difference in comparison?.differences ?? [] {
                writer.object { writer in
                    writer.member("id", difference.id)
                    writer.key("serving")
                    difference.serving.write(to: &writer)
                    writer.key("candidate")
                    difference.candidate.write(to: &writer)
                    writer.member("score", thousandths: difference.score)
                    writer.member("reason", difference.reason)
                }
            }
        }
        guard let comparison else { return }
        writer.member("failures", comparison.failures)
        optional("top5_overlap", comparison.topFiveOverlap, to: &writer)
        if let difference = comparison.confidenceDifference {
            writer.key("confidence_difference")
            writer.object { writer in
                writer.member("mean", thousandths: difference.mean)
                writer.member("largest", thousandths: difference.largest)
            }
        }
        guard !comparison.classes.isEmpty else { return }
        writer.key("classes")
        writer.object { writer in
            for (name, counts) in comparison.classes.sorted(by: { $0.key < $1.key }) {
                writer.key(name.isEmpty ? "others" : name)
                writer.object { writer in
                    writer.member("compared", counts.compared)
                    writer.member("agreed", counts.agreed)
                }
            }
        }
    }

    private static func optional(_ name: String, _ value: Double?, to writer: inout JSONWriter) {
        writer.key(name)
        if let value { writer.thousandths(value) } else { writer.null() }
    }
}

internal import FlowControl
internal import JSON
package import ServicePlanning
package import Settings

/// The limits of the daemon, each with its reason: for `ocelli limits`, and for the log at start.
package struct LimitsReport: Sendable {
    /// One limit.
    package struct Row: Sendable {
        package let name: String, value: String, reason: String
        /// True if the value is below its default or configured value because of the limits of the process.
        package let isLowered: Bool
        /// The value of an amount of memory; nil for other limits.
        var bytes: Int?
    }

    package let rows: [Row]

    /// The limits for some settings on this machine, now.
    package init(_ settings: Settings, environment: [String: String]) {
        self.init(ServicePlan(settings: settings, environment: environment))
    }

    package init(_ plan: ServicePlan) {
        let settings = plan.settings, sizing = plan.sizing, resources = plan.resources
        func number(_ name: String, _ derived: Derived<Int>, configured: Int?, isBytes: Bool = false) -> Row {
            let value = derived.value
            let text = isBytes ? Units.bytes(value) : "\(value)", bytes = isBytes ? value : nil
            guard let configured else {
                return Row(name: name, value: text, reason: derived.reason, isLowered: false, bytes: bytes)
            }
            return Row(
                name: name, value: text, reason: value < configured ? derived.reason : "as configured",
                isLowered: value < configured, bytes: bytes)
        }
        func memory(_ name: String, _ derived: Derived<Int>) -> Row {
            number(name, derived, configured: nil, isBytes: true)
        }
        /// A setting with the default `auto`.
        func automatic(_ name: String, _ given: Int?, _ derived: Derived<Int>, _ reason: String? = nil) -> Row {
            if let given { return Row(name: name, value: "\(given)", reason: "as configured", isLowered: false) }
            return Row(name: name, value: "\(derived.value)", reason: reason ?? derived.reason, isLowered: false)
        }
        var rows = [
            Row(
                name: "processors", value: Units.decimal(resources.cpus.value, places: 2),
                reason: resources.cpus.reason,
                isLowered: false),
            memory(
                "memory",
                Derived(Int(clamping: resources.memoryBytes.value), because: resources.memoryBytes.reason)),
            Row(
                name: "open files", value: "\(resources.openFiles.value)", reason: resources.openFiles.reason,
                isLowered: false),
            Row(
                name: "thread limit", value: "\(resources.threads.value)", reason: resources.threads.reason,
                isLowered: false),
            automatic("threads", settings.threads, sizing.inferenceThreads),
            automatic("streams", settings.streams, sizing.streams),
            automatic("lone_threads", settings.loneThreads, sizing.loneThreads),
            automatic("instances", settings.instances, sizing.inferRequests),
            automatic("max_in_flight", settings.maxInFlight, sizing.slots),
            number("queue_length", sizing.queueCapacity, configured: settings.queueLength),
            number("max_body", sizing.bodyBytes, configured: settings.maxBody, isBytes: true),
            number("max_total_body", sizing.bodyBudgetBytes, configured: settings.maxTotalBody, isBytes: true),
            memory("max_total_answers", plan.answerBudget),
            number("max_pixels", sizing.pixels, configured: settings.maxPixels),
            memory("max_total_decode", plan.decodeBudget),
            number("max_connections", sizing.connections, configured: settings.maxConnections),
            automatic("event_loops", settings.eventLoops, sizing.eventLoops),
        ]
        // Last, so that a change leaves the other rows at their indices, by which `LimitsWatch` compares them.
        if let summary = resources.topology.summary {
            rows.append(
                Row(
                    name: "NUMA nodes", value: "\(max(1, resources.topology.nodes.count))", reason: summary,
                    isLowered: false))
        }
        self.rows = rows
    }

    /// A table for people.
    package var text: String {
        let names = rows.map(\.name.count).max() ?? 0, values = rows.map(\.value.count).max() ?? 0
        return rows.map { row in
            row.name + String(repeating: " ", count: names - row.name.count + 2)
                + String(repeating: " ", count: values - row.value.count) + row.value + "  " + row.reason
        }.joined(separator: "\n")
    }

    /// The rows as a JSON object: amounts of memory in bytes, other values as numbers.
    package var json: String {
        JSONWriter.table("limits", rows) { row, writer in
            writer.member("name", row.name)
            writer.key("value")
            if let bytes = row.bytes ?? Int(row.value) {
                writer.integer(bytes)
            } else {
                writer.number(Double(row.value) ?? 0)
            }
            if row.bytes != nil { writer.member("text", row.value) }
            writer.member("reason", row.reason)
            writer.member("lowered", row.isLowered)
        }
    }
}

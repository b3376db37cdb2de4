internal import FlowControl
package import HTTPServer
internal import Inference
package import ServiceCore
package import ServicePlanning
internal import Settings
internal import Synchronization

/// The limits in effect, which follow the resources of the process: its control group can change while the daemon runs
/// (a pod is resized in place). Thread-safe.
package final class LimitsWatch: Sendable {
    /// The interval at which the control group is read. SIGHUP reads it too.
    static let interval = Duration.seconds(60)

    private let rows: Mutex<[LimitsReport.Row]>
    private let server: HTTPServer
    private let log: Log

    /// - Parameter plan: the plan with which the daemon started.
    package init(_ plan: ServicePlan, server: HTTPServer, log: Log) {
        self.server = server
        rows = Mutex(LimitsReport(plan).rows)
        self.log = log
        DecodeBudget.shared.use(total: plan.decodeBudget.value)
        DefaultEngine.limitMemory(to: Int(clamping: plan.resources.memoryBytes.value / 2))
    }

    /// True if a plan has limits other than those in effect.
    func differs(from plan: ServicePlan) -> Bool { !changes(to: LimitsReport(plan).rows).isEmpty }

    /// Applies a plan's limits to the server, and logs the changed ones with their reasons. The repository applies
    /// those of the models.
    func use(_ plan: ServicePlan) {
        let next = LimitsReport(plan).rows
        for (row, before) in changes(to: next) {
            log.notice("limits: \(row.name) changed from \(before) to \(row.value): \(row.reason)")
        }
        rows.withLock { $0 = next }
        DecodeBudget.shared.use(total: plan.decodeBudget.value)
        server.use(
            maxBodyBytes: plan.sizing.bodyBytes.value, maxTotalBodyBytes: plan.sizing.bodyBudgetBytes.value,
            maxTotalAnswerBytes: plan.answerBudget.value, maxConnections: plan.sizing.connections.value)
    }

    private func changes(to next: [LimitsReport.Row]) -> [(row: LimitsReport.Row, before: String)] {
        let before = rows.withLock { $0 }
        return zip(next, before).filter { $0.value != $1.value }.map { ($0, $1.value) }
    }
}

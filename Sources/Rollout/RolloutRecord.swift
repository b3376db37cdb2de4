package import JSON

// The content of rollout.json: the plan and the state.

extension RolloutMachine.Record {
    /// Reads rollout.json, as written by an operator or by the daemon.
    package init(_ value: JSONValue) throws(RolloutPlan.Problem) {
        self.init()
        plan = try RolloutPlan(value)
        guard case .object(let members) = value else { return }
        if let word = try Self.text(members, "state") {
            guard let state = RolloutMachine.State(rawValue: word) else {
                let words = RolloutMachine.State.allCases.map(\.rawValue).joined(separator: ", ")
                throw RolloutPlan.Problem(
                    path: "state", reason: "expected one of \(words), found \"\(word.prefix(60))\"")
            }
            self.state = state
        }
        reason = try Self.text(members, "reason")
        judged = try Self.text(members, "judged")
        if let list = members["rolled_back"], list != .null {
            guard case .array(let entries) = list, entries.count <= RolloutMachine.maximumRolledBack else {
                throw RolloutPlan.Problem(
                    path: "rolled_back",
                    reason: "expected at most \(RolloutMachine.maximumRolledBack) digests, found \(list.kind)")
            }
            rolledBack = try entries.map { (entry) throws(RolloutPlan.Problem) in
                guard case .string(let digest) = entry else {
                    throw RolloutPlan.Problem(path: "rolled_back", reason: "expected digests, found \(entry.kind)")
                }
                return digest
            }
        }
    }

    private static func text(_ members: [String: JSONValue], _ name: String) throws(RolloutPlan.Problem) -> String? {
        guard let value = members[name], value != .null else { return nil }
        guard case .string(let text) = value else {
            throw RolloutPlan.Problem(path: name, reason: "expected text, found \(value.kind)")
        }
        return text
    }

    /// The text of the file, with a final newline.
    /// - Parameter over: the digest of the operator's file that this record overrides; nil if it is written to that
    ///   file.
    package func text(over: String? = nil) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            plan.write(to: &writer)
            writer.member("state", state.rawValue)
            if let reason { writer.member("reason", reason) }
            if let judged { writer.member("judged", judged) }
            if !rolledBack.isEmpty { writer.member("rolled_back", rolledBack) }
            if let over { writer.member("over", over) }
        }
        return writer.bytes + [0x0A]
    }
}

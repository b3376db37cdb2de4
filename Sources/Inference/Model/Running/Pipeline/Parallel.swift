/// Runs several pieces of work at a time, in a request's slot.
enum Parallel {
    /// A structure made by a method: see ``IndexedOutcome``.
    private struct Outcome<Value: Sendable>: Sendable {
        let index: Int
        let result: Result<Value, InferenceError>
    }

    /// Returns the results in order. The first failure cancels the others.
    /// - Parameters:
    ///   - count: the number of pieces.
    ///   - width: the maximum number of pieces at a time.
    static func results<Value: Sendable>(
        _ count: Int, width: Int, _ work: @escaping @Sendable (Int) async throws(InferenceError) -> Value
    ) async throws(InferenceError) -> [Value] {
        if count == 1 { return [try await work(0)] }
        let outcomes = await withTaskGroup(of: Outcome<Value>.self) { group in
            var outcomes: [Outcome<Value>] = []
            var next = 0
            func begin() {
                let index = next
                next += 1
                group.addTask { await outcome(index, work) }
            }
            while next < min(count, max(1, width)) { begin() }
            var hasFailed = false
            while let outcome = await group.next() {
                outcomes.append(outcome)
                if case .failure = outcome.result, !hasFailed {
                    hasFailed = true
                    group.cancelAll()
                }
                if next < count, !hasFailed { begin() }
            }
            return outcomes
        }
        // Throws the error of the first piece that failed, not of one that was cancelled because of it.
        if let failed = outcomes.first(where: { if case .failure = $0.result { true } else { false } }) {
            _ = try failed.result.get()
        }
        var values: [Value] = []
        for outcome in outcomes.sorted(by: { $0.index < $1.index }) { values.append(try outcome.result.get()) }
        return values
    }

    private static func outcome<Value>(
        _ index: Int, _ work: @Sendable (Int) async throws(InferenceError) -> Value
    ) async -> Outcome<Value> {
        do throws(InferenceError) {
            return Outcome(index: index, result: .success(try await work(index)))
        } catch {
            return Outcome(index: index, result: .failure(error))
        }
    }
}

/// What became of one item of a request. A structure made by a method: see Inference's `IndexedOutcome`.
struct ItemOutcome<Value: Sendable>: Sendable {
    /// Which item, from 0.
    let index: Int
    let result: Result<Value, ServiceError>

    var isFailure: Bool {
        if case .failure = result { true } else { false }
    }
}

import HTTPServer
import SystemSupport

/// Counts the outcomes of requests.
final class ExchangeJournal: HTTPServerObserver {
    private let outcomes = Guarded<[String: Int]>([:])

    func exchangeEnded(_ record: ExchangeRecord) {
        let key =
            switch record.outcome {
            case .answered: "answered"
            case .clientGone(let stage): "gone:\(stage.rawValue)"
            case .protocolError(let label): "error:\(label)"
            case .timedOut(let label): "timeout:\(label)"
            }
        // Successful requests are not counted, because benchmarks use this process too.
        if key != "answered" { outcomes.withLock { $0[key, default: 0] += 1 } }
    }

    func lines() -> [String] {
        outcomes.withLock { $0.map { "\($0.key) \($0.value)" }.sorted() }
    }
}

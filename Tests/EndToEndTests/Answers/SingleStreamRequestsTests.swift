import Foundation
import TestSupport
import Testing

/// Requests that run while the daemon is otherwise idle, on a variant of the model with more threads.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1, "one processor has no other thread to give"),
    .serialized)
struct SingleStreamRequestsTests {
    private static let seven = SharedData.packageRoot.appendingPathComponent("examples/seven.png")

    private func variant(of daemon: Daemon) throws -> [String: Any] {
        let execution = try Curl.run(daemon.url + "/v1/models/digits").json["execution"] as? [String: Any]
        return execution?["lone"] as? [String: Any] ?? [:]
    }

    private func confidences(_ answer: Answer) -> [Double] {
        let classes = answer.json["classifications"] as? [[String: Any]] ?? []
        return classes.compactMap { $0["confidence"] as? Double }
    }

    @Test("a single-stream request uses the variant with more threads, and has the same confidences")
    func theVariantSaysThatItRanAndAnswersTheSame() throws {
        let daemon = try Daemon(["--lone-threads=2", "--threads=2", "--streams=2"])
        defer { daemon.stop() }
        #expect(try variant(of: daemon)["state"] as? String == "not_compiled")
        let usual = try Curl.post(Self.seven, to: daemon.url + "/v1/classify")
        #expect(usual.headers["server-timing"]?.contains("desc=") == false, "\(usual.headers)")
        #expect(eventually { (try? variant(of: daemon)["state"]) as? String == "ready" })
        #expect(daemon.waitForLog("single-stream requests use 2 threads"))
        let singleStream = try Curl.post(Self.seven, to: daemon.url + "/v1/classify")
        let timing = singleStream.headers["server-timing"] ?? ""
        #expect(timing.contains(#"infer;dur="#) && timing.contains(#";desc="2 threads""#), "\(timing)")
        // Sums of floats may be added up in another order.
        for (one, other) in zip(confidences(usual), confidences(singleStream)) { #expect(abs(one - other) < 1e-5) }
        #expect(confidences(singleStream).count == 5)
        let told = try variant(of: daemon)
        #expect(told["predictions"] as? Int == 1 && told["threads"] as? Int == 2)
        #expect((told["load_ms"] as? Double ?? 0) > 0 && told["memory_bytes"] is Int)
    }

    /// A batch's pictures run in parallel: only the last one may be the only one left.
    @Test("pictures of a batch that run in parallel do not all use the variant for single-stream requests")
    func requestsSideBySideAreNotLone() throws {
        let daemon = try Daemon(["--lone-threads=2", "--threads=2", "--streams=2"])
        defer { daemon.stop() }
        _ = try Curl.post(Self.seven, to: daemon.url + "/v1/classify")
        #expect(eventually { (try? variant(of: daemon)["state"]) as? String == "ready" })
        let forms = (0..<32).flatMap { _ in ["-F", "image=@\(Self.seven.path)"] }
        let answer = try Curl.run(daemon.url + "/v1/classify", forms)
        let results = answer.json["results"] as? [[String: Any]] ?? []
        #expect(results.count == 32)
        for result in results {
            let best = (result["classifications"] as? [[String: Any]])?.first?["label"] as? String
            #expect(best == "7", "\(result)")
        }
        let count = try variant(of: daemon)["predictions"] as? Int ?? .max
        #expect(count < 32, "\(count) pictures of one request ran as if they were alone")
    }

    @Test("--lone-threads=0 makes no variant for single-stream requests")
    func zeroThreadsMakeNoVariant() throws {
        let daemon = try Daemon(["--lone-threads=0"])
        defer { daemon.stop() }
        for _ in 0..<10 { _ = try Curl.post(Self.seven, to: daemon.url + "/v1/classify") }
        #expect(try variant(of: daemon).isEmpty)
    }
}

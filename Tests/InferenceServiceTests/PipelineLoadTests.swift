import FlowControl
import Foundation
import ImagePipeline
import Inference
internal import Repository
import SystemSupport
import TestSupport
import Testing

/// Pipelines under load: disconnected clients, short deadlines, failing models, and the cost for others.
@Suite(.timeLimit(.minutes(3))) struct PipelineLoadTests {
    private typealias World = OpenInferenceHandlersTests.World

    private static let names = ["spots", "colors", "means", "picky", "crowd", "all", "looks", "some", "crowded"]

    /// A picture with a bright upper half and a dark lower half.
    private static func halves(_ width: Int, _ height: Int) throws -> [UInt8] {
        var random = SplitMix(seed: 34)
        let pixels = (0..<width * height * 3).map { place in
            (place < width * 3 * (height / 2) ? 200 : 20) + UInt8(random.next() % 32)
        }
        return try pixels.withUnsafeBytes {
            try PNGEncoder.encode(width: width, height: height, channels: 3, pixels: $0)
        }
    }

    /// Waits until no model has a request in progress, and no memory is held.
    private func isIdle(_ world: World) async throws -> Bool {
        for _ in 0..<2_000 {
            var isBusy = DecodeBudget.shared.usage.used != 0
            for name in ["spots", "colors", "means", "picky", "crowd"] {
                let state = try await world.repository.model(named: name).limiter.snapshot
                isBusy = isBusy || state.inFlight != 0 || state.waiting != 0
            }
            if !isBusy { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    private func looked(_ reply: OpenInferenceHandlersTests.Reply, _ stage: String) -> Int {
        (reply.json["detections"] as? [[String: Any]] ?? []).count {
            ($0[stage] as? [String: Any])?["error"] == nil && $0[stage] != nil
        }
    }

    // MARK: Disconnected clients

    @Test("clients that disconnect at any moment leave no resource taken, and other clients are answered")
    func cancellationStorm_leavesNothingTaken() async throws {
        let world = try await PipelineTests.world(names: Self.names)
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(seed: seed)
        // Large enough to reserve memory for decoding, which smaller pictures do not.
        let picture = try PipelineTests.png(600, 500)
        let delays = (0..<200).map { _ in UInt64(random.next() % 30_000_000) }
        var whole = 0, left = 0
        for start in stride(from: 0, to: delays.count, by: 8) {
            await withTaskGroup(of: Bool?.self) { group in
                for (place, delay) in delays[start..<start + 8].enumerated() {
                    group.addTask {
                        let client = Task { () -> (status: Int, looked: Int) in
                            let reply = try await world.answer("POST /v1/models/all/detect", picture)
                            return (reply.status, looked(reply, "color"))
                        }
                        // Every eighth client stays.
                        if place != 0 {
                            try? await Task.sleep(nanoseconds: delay)
                            client.cancel()
                        }
                        guard let reply = try? await client.value else { return nil }
                        if reply.status == 200 {
                            #expect(reply.looked == 64, "seed \(seed)")
                            return true
                        }
                        #expect(place != 0 && reply.status == 503, "seed \(seed): \(reply.status)")
                        return false
                    }
                }
                for await outcome in group {
                    #expect(outcome != nil, "seed \(seed)")
                    if outcome == true { whole += 1 } else { left += 1 }
                }
            }
        }
        #expect(whole >= 25 && left > 0, "\(whole) answers, \(left) cancelled; seed \(seed)")
        #expect(try await isIdle(world), "seed \(seed)")
        let reply = try await world.answer("POST /v1/models/all/detect", picture)
        #expect(reply.status == 200 && looked(reply, "color") == 64)
    }

    @Test("a deadline of any length gives a whole answer or 504, and leaves no resource taken")
    func deadlines_giveAllOrNothing() async throws {
        let world = try await PipelineTests.world(names: Self.names)
        let picture = try PipelineTests.png(600, 500)
        var statuses: Set<Int> = []
        for milliseconds in [1, 2, 3, 5, 8, 12, 16, 20, 25, 30, 40, 60, 100, 10_000] {
            let reply = try await world.answer("POST /v1/models/looks/detect?timeout_ms=\(milliseconds)", picture)
            statuses.insert(reply.status)
            if reply.status == 200 {
                #expect(looked(reply, "color") == 25)
            } else {
                #expect(
                    reply.status == 504 && reply.json["code"] as? String == "deadline_exceeded",
                    "\(reply.text.prefix(200))")
                #expect(reply.json["detections"] == nil)
            }
        }
        #expect(statuses == [200, 504])
        #expect(try await isIdle(world))
    }

    // MARK: A model that fails

    /// "crowded" runs the failing model in batches, which fail as a whole.
    @Test(
        "a model's failure for some crops is an error in their places only; other crops are answered",
        arguments: ["some", "crowded"])
    func modelThatFails_isAnErrorInItsPlaces(_ name: String) async throws {
        let world = try await PipelineTests.world(names: Self.names)
        #expect(try await world.repository.model(named: "crowd").batchLimit == 8)
        let reply = try await world.answer("POST /v1/models/\(name)/detect", Self.halves(200, 200))
        #expect(reply.status == 200, "\(reply.text.prefix(300))")
        // Two crops each, of 64.
        let found = (reply.json["detections"] as? [[String: Any]] ?? []).filter { $0["mean"] != nil }
        var failed = 0
        for one in found {
            let numbers = ((one["mean"] as? [String: Any])?["embedding"] as? [NSNumber] ?? []).map(\.doubleValue)
            let picky = one["picky"] as? [String: Any]
            let mean = numbers.reduce(0, +) / 3
            #expect(numbers.count == 3 && abs(mean - 0.5) > 0.001)
            guard mean > 0.5 else {
                #expect((picky?["embedding"] as? [NSNumber])?.map(\.doubleValue) == numbers)
                continue
            }
            failed += 1
            #expect(picky?["code"] as? String == "internal", "\(picky ?? [:])")
            #expect((picky?["error"] as? String)?.isEmpty == false && picky?["embedding"] == nil)
        }
        #expect(failed > 5 && found.count - failed > 5, "\(failed) of \(found.count)")
        let page = try await world.answer("GET /metrics").text
        #expect(page.contains("ocelli_pipeline_crop_failures_total{model=\"\(name)\",stage=\"picky\"} \(failed)"))
        #expect(page.contains("ocelli_pipeline_crop_failures_total{model=\"\(name)\",stage=\"mean\"} 0"))
        #expect(try await isIdle(world))
    }

    // MARK: Fairness

    @Test("crops count as their client's work when clients share the model's slots")
    func crops_countAsTheClientsWork() async throws {
        let world = try await PipelineTests.world(names: Self.names)
        let pipeline = try await world.repository.model(named: "all")
        let limiter = try await world.repository.model(named: "colors").limiter
        let few = Claim(client: 7), many = Claim(client: 8)
        var options = PredictionOptions()
        options.claim = many
        let image = EncodedImage(try PipelineTests.png(300, 200))
        let result = try await pipeline.observations(
            of: image, request: ObservationRequest(task: .detect), options: options)
        #expect(result.count == 64)
        // All slots of the classifier are taken, and both clients wait; the one with the pipeline is first in line.
        var held: [Slot] = []
        for _ in 0..<limiter.snapshot.limit { held.append(try await limiter.acquire()) }
        let (order, told) = AsyncStream.makeStream(of: Int.self)
        func wait(_ claim: Claim, places: Int) async throws -> Task<Void, Never> {
            let task = Task {
                guard let slot = try? await limiter.acquire(claim: claim) else { return }
                told.yield(claim.client)
                slot.release()
            }
            for _ in 0..<1_000 where limiter.snapshot.waiting < places { try await Task.sleep(for: .milliseconds(2)) }
            return task
        }
        let tasks = [try await wait(many, places: 1), try await wait(few, places: 2)]
        #expect(limiter.snapshot.waiting == 2)
        // One slot, for one after the other.
        held.removeLast().release()
        for task in tasks { await task.value }
        for slot in held { slot.release() }
        told.finish()
        var served: [Int] = []
        for await client in order { served.append(client) }
        #expect(served == [few.client, many.client])
    }
}

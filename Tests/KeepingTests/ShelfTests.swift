import Foundation
import Keeping
import TestSupport
import Testing

@Suite struct ShelfTests {
    /// A picture with files of about `bytes` bytes.
    private static func picture(
        _ number: Int, time: Int, bytes: Int = 100, model: String = "parts", reasons: Set<KeptReason> = [.uncertain]
    ) -> KeptPicture {
        let digits = String(number, radix: 16)
        return KeptPicture(
            id: String(repeating: "0", count: 64 - digits.count) + digits, model: model, version: "1",
            reasons: reasons, time: time, bytes: bytes, type: "image/png")
    }

    private static let wide = KeptShelf.Limits(bytes: 1 << 30, days: 30, rate: 10)

    @Test("pictures go after the days of the limit, and not before")
    func oldPicturesGo() {
        let day = 86_400_000
        let shelf = KeptShelf(
            [Self.picture(1, time: 0), Self.picture(2, time: day)],
            limits: KeptShelf.Limits(bytes: 1 << 30, days: 2, rate: 10))
        #expect(shelf.leaving(at: 2 * day).isEmpty)
        #expect(shelf.leaving(at: 2 * day + 1).map(\.time) == [0])
        #expect(shelf.leaving(at: 3 * day + 1).map(\.time) == [0, day])
        // A clock that was set back removes nothing.
        #expect(shelf.leaving(at: -5 * day).isEmpty)
    }

    @Test("the oldest pictures make room for a new one, and no more than needed")
    func theOldestMakeRoom() {
        var shelf = KeptShelf(limits: Self.wide)
        for number in 1...5 { shelf.insert(Self.picture(number, time: number, bytes: 1_000)) }
        let each = shelf.bytes / 5
        shelf.limits.bytes = 5 * each
        #expect(shelf.leaving(at: 10, for: Self.picture(6, time: 6, bytes: 1_000)).map(\.time) == [1])
        #expect(shelf.leaving(at: 10, for: Self.picture(6, time: 6, bytes: 2_000)).map(\.time) == [1, 2])
        shelf.limits.bytes = 2 * each
        #expect(shelf.leaving(at: 10).map(\.time) == [1, 2, 3])
        #expect(!shelf.canHold(Self.picture(6, time: 6, bytes: 3 * each)))
    }

    /// The expected pages come from an array that is filtered and sorted as a whole.
    @Test("pages list each picture once, newest first, also while others go")
    func pagesListEachPictureOnce() throws {
        var random = SplitMix(seed: SplitMix.seed(for: "pagesListEachPictureOnce"))
        for _ in 0..<50 {
            var shelf = KeptShelf(limits: Self.wide)
            var all: [KeptPicture] = []
            for number in 0..<Int.random(in: 0..<40, using: &random) {
                let picture = Self.picture(
                    number, time: Int.random(in: 0..<10, using: &random),
                    model: ["one", "two"][Int.random(in: 0..<2, using: &random)],
                    reasons: Set(KeptReason.allCases.filter { _ in Bool.random(using: &random) } + [.disagree]))
                shelf.insert(picture)
                all.append(picture)
            }
            let model = [nil, "one", "two"][Int.random(in: 0..<3, using: &random)]
            let reason = [nil, KeptReason.unknown, .disagree][Int.random(in: 0..<3, using: &random)]
            let limit = Int.random(in: 1..<7, using: &random)
            var listed: [String] = [], after: KeptShelf.Place?, isOver = false, gone: Set<String> = []
            while !isOver {
                let page = shelf.page(model: model, reason: reason, after: after, limit: limit)
                #expect(page.pictures.count <= limit)
                listed += page.pictures.map(\.id)
                isOver = page.next == nil
                after = try page.next.map { try #require(KeptShelf.Place("\($0)")) }
                // The last listed one goes: its place stays.
                if let last = page.pictures.last, Bool.random(using: &random) {
                    shelf.remove([last.id])
                    gone.insert(last.id)
                }
            }
            let expected = all.filter { picture in
                (model == nil || picture.model == model) && (reason.map { picture.reasons.contains($0) } ?? true)
            }.sorted { ($0.time, $0.id) > ($1.time, $1.id) }.map(\.id)
            #expect(listed == expected)
            let left = all.filter { !gone.contains($0.id) }
            #expect(shelf.pictures.count == left.count)
            for picture in all {
                #expect((shelf.picture(picture.id) == nil) == gone.contains(picture.id))
            }
            shelf.remove(left.map(\.id))
            #expect(shelf.bytes == 0 && shelf.pictures.isEmpty)
        }
    }

    @Test(
        "identifiers are 64 hexadecimal digits",
        arguments: [
            ("", false), (String(repeating: "a", count: 63), false), (String(repeating: "a", count: 65), false),
            (String(repeating: "g", count: 64), false), ("../" + String(repeating: "a", count: 61), false),
            (String(repeating: "A", count: 64), true), (String(repeating: "0", count: 64), true),
        ])
    func identifiers(_ text: String, _ isValid: Bool) {
        #expect((KeptPicture.id(text) != nil) == isValid)
        #expect(KeptPicture.id(text).map { $0 == text.lowercased() } ?? true)
    }

    @Test("places that are none", arguments: ["", "5", "-", "5-", "a-b", "-5-" + String(repeating: "a", count: 64)])
    func placesThatAreNone(_ text: String) { #expect(KeptShelf.Place(text) == nil) }
}

@Suite struct KeepingGateTests {
    /// The expected decisions come from the times of all kept pictures.
    @Test("never more pictures in any minute than the rate")
    func theRateHolds() {
        var random = SplitMix(seed: SplitMix.seed(for: "theRateHolds"))
        for _ in 0..<50 {
            let rate = Int.random(in: 0..<8, using: &random)
            var gate = KeepingGate(rate: rate), now = 0, kept: [Int] = []
            for _ in 0..<300 {
                now += Int.random(in: 0..<12_000, using: &random)
                let expected = kept.count(where: { now - $0 < 60_000 }) < rate
                #expect(gate.isOpen(at: now) == expected)
                guard expected else { continue }
                gate.kept(at: now)
                kept.append(now)
            }
        }
    }

    @Test("the queue is bounded in pictures and in bytes")
    func theQueueIsBounded() {
        var gate = KeepingGate(rate: 10, maximumWaiting: 2, maximumBytes: 100)
        #expect(gate.enter(101, at: 0) == .tooLarge)
        #expect(gate.enter(60, at: 0) == nil)
        #expect(gate.enter(60, at: 0) == .queueFull)
        #expect(gate.enter(40, at: 0) == nil)
        #expect(gate.enter(0, at: 0) == .queueFull)
        gate.leave(60)
        #expect(gate.enter(60, at: 0) == nil)
        for _ in 0..<10 { gate.kept(at: 0) }
        gate.leave(60)
        #expect(gate.enter(1, at: 59_999) == .rate)
        #expect(gate.enter(1, at: 60_000) == nil)
    }
}

import Foundation
import Keeping
import SystemSupport

/// A folder that is removed with the object.
final class Scratch: Sendable {
    let path: String

    init() {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("keeping-\(UUID().uuidString)").path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The names of the files in the folder, without the lock.
    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter { $0 != ".ocelli-kept" }.sorted()
    }

    /// The size of the files in the folder, without the lock.
    var bytes: Int { names.reduce(0) { $0 + (contents($1)?.count ?? 0) } }

    func contents(_ name: String) -> Data? { FileManager.default.contents(atPath: path + "/" + name) }
}

/// A clock that tests set, and the events of a store.
final class Observer: Sendable {
    private let state = Guarded(State())

    private struct State: Sendable {
        var time = KeepingTime(date: 1_700_000_000_000, tick: 5_000_000)
        var kept: [String] = [], dropped: [String] = [], notices: [String] = []
    }

    var time: KeepingTime { state.withLock { $0.time } }
    /// `MODEL: REASONS` of each picture.
    var kept: [String] { state.withLock { $0.kept } }
    var dropped: [String] { state.withLock { $0.dropped } }
    var notices: [String] { state.withLock { $0.notices } }

    func advance(milliseconds: Int) {
        state.withLock { state in
            state.time.date += milliseconds
            state.time.tick += milliseconds
        }
    }

    func note(_ event: KeepingEvent) {
        state.withLock { state in
            switch event {
            case .kept(let picture, let reasons):
                state.kept.append("\(picture.model): \(reasons.map(\.rawValue).sorted().joined(separator: " "))")
            case .dropped(let refusal, _): state.dropped.append(refusal.rawValue)
            case .notice(let text): state.notices.append(text)
            }
        }
    }

    func store(
        _ folder: Scratch, bytes: Int = 1 << 30, days: Int = 30, rate: Int = 1_000, gate: KeepingGate? = nil
    ) throws -> KeptStore {
        try KeptStore(
            folder: folder.path, limits: KeptShelf.Limits(bytes: bytes, days: days, rate: rate), gate: gate,
            clock: { self.time }, report: { self.note($0) })
    }
}

extension KeptStore {
    /// Offers a text as a picture, and waits until it is kept or dropped.
    func keep(_ text: String, model: String = "parts", _ reasons: Set<KeptReason> = [.uncertain]) {
        _ = offer(.text(text, model: model, reasons))
        flush()
    }

    var ids: [String] { shelf.page(model: nil, reason: nil, after: nil, limit: 1_000).pictures.map(\.id) }
}

extension KeepingOffer {
    static func text(_ text: String, model: String = "parts", _ reasons: Set<KeptReason> = [.uncertain]) -> Self {
        KeepingOffer(model: model, version: "1", reasons: reasons, byteCount: text.utf8.count) {
            Content(bytes: Array(text.utf8), type: "image/png")
        }
    }
}

/// SHA-256 digests from `sha256sum` of the texts `a` to `e`.
enum Digest {
    static let a = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    static let b = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
    static let c = "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6"
    static let d = "18ac3e7343f016890c510e93f935261169d9e3f565436429830faf0934f4f8e4"
    static let e = "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea"
}

internal import CONNXRuntime
internal import EngineAPI
internal import FoundationEssentials
internal import Glibc
internal import JSON
internal import Synchronization

/// The times of a session's layers, which ONNX Runtime writes to a file.
final class ORTProfile: Sendable {
    private let folder: String
    var prefix: String { folder + "/profile" }
    private let read = Mutex<[LayerProfile]?>(nil)

    private static let maximum = 256 << 20

    init() throws(EngineError) {
        let template = FileManager.default.temporaryDirectory.path + "/ocelli-profile-XXXXXX"
        var path = Array(template.utf8CString)
        guard mkdtemp(&path) != nil else {
            throw EngineError(
                kind: .failure, operation: "measure the layers",
                detail: "no folder could be made for the times: \(String(cString: strerror(errno)))")
        }
        folder = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// The mean time of each layer over the runs so far. The first call ends the measurement.
    func layers(of session: ORTSession) throws(EngineError) -> [LayerProfile] {
        let result: Result<[LayerProfile], EngineError> = read.withLock { read in
            if let read { return .success(read) }
            return Result { () throws(EngineError) in
                let layers = try end(session)
                read = layers
                return layers
            }
        }
        return try result.get()
    }

    private func end(_ session: ORTSession) throws(EngineError) -> [LayerProfile] {
        let library = session.library, allocator = try library.prepared().allocator
        var name: UnsafeMutablePointer<CChar>?
        try library.check("read the profile", ort_end_profiling(library.api, session.handle.pointer, allocator, &name))
        guard let name else { return [] }
        defer { _ = library.take(ort_allocator_free(library.api, allocator, name)) }
        guard case .success(let data) = BundleFile.read(String(cString: name), maximum: Self.maximum),
            let events = try? JSONDecoder().decode([Event].self, from: data)
        else { return [] }
        return Self.layers(events)
    }

    /// An event in the file: the run of a node's kernel, with its time in microseconds.
    private struct Event: Decodable {
        struct Arguments: Decodable {
            var op_name: String?
            var provider: String?
        }
        var name = ""
        var cat: String?
        var dur: Int64?
        var args: Arguments?

        enum CodingKeys: String, CodingKey { case name, cat, dur, args }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            name = (try? values.decode(String.self, forKey: .name)) ?? ""
            cat = try? values.decode(String.self, forKey: .cat)
            dur = try? values.decode(Int64.self, forKey: .dur)
            args = try? values.decode(Arguments.self, forKey: .args)
        }
    }

    private static func layers(_ events: [Event]) -> [LayerProfile] {
        var order: [String] = []
        var times: [String: (total: Int64, runs: Int64, event: Event)] = [:]
        for event in events where event.cat == "Node" && event.name.hasSuffix("_kernel_time") {
            if times[event.name] == nil { order.append(event.name) }
            let known = times[event.name] ?? (0, 0, event)
            times[event.name] = (known.total &+ (event.dur ?? 0), known.runs + 1, event)
        }
        return order.compactMap { name in
            guard let (total, runs, event) = times[name] else { return nil }
            return LayerProfile(
                name: String(name.dropLast("_kernel_time".count)), type: event.args?.op_name ?? "",
                execution: event.args?.provider ?? "", microseconds: total / max(1, runs))
        }
    }
}

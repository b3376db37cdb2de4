internal import Inference
internal import JSON

/// The `Server-Timing` field of an answer: the stages in milliseconds (W3C, Server Timing).
enum ServerTiming {
    /// - Parameter device: the device of the inference; named if it is a GPU.
    static func text(_ times: StageTimes, recv: UInt64, encode: UInt64, device: String = "") -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(128)
        func stage(_ name: StaticString, _ nanoseconds: UInt64) {
            bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
            JSONWriter.appendMilliseconds(nanoseconds, to: &bytes)
        }
        stage("recv;dur=", recv)
        if times.load > 0 { stage(", load;dur=", times.load) }
        stage(", queue;dur=", times.queue)
        stage(", decode;dur=", times.decode)
        stage(", infer;dur=", times.inference)
        if let threads = times.singleStreamThreads { bytes.append(contentsOf: ";desc=\"\(threads) threads\"".utf8) }
        if device.hasPrefix("gpu") { bytes.append(contentsOf: ";desc=\"\(device)\"".utf8) }
        if times.postprocess > 0 { stage(", postprocess;dur=", times.postprocess) }
        for one in times.stages {
            bytes.append(contentsOf: ", stage.\(one.name);dur=".utf8)
            JSONWriter.appendMilliseconds(one.nanoseconds, to: &bytes)
        }
        stage(", encode;dur=", encode)
        return String(decoding: bytes, as: UTF8.self)
    }
}

internal import CConfinedCodecs
internal import CSystem
internal import Glibc
package import ImagePipeline
internal import SystemSupport

/// A picture in its own process, from its header to its pixels. Ends the process when the last reference is released.
///
/// `@unchecked Sendable`: one thread at a time uses it. `ConfinedDecoder.open` opens it before any other code has a
/// reference. Its only caller decodes it after `open` has returned, and waits for the end. `deinit` has the last
/// reference.
package final class ConfinedPicture: @unchecked Sendable {
    private let format: ImageFormat
    /// The time that the picture may still use. No time passes while it waits for memory.
    private var left: Duration
    private let bytes: Int
    private let limits: DecodeLimits
    private var dialogue: DecodeDialogue
    /// The helper that watches the process, which lives as long as this object, and the function to call if the
    /// picture's process crashes.
    private var helper: (HelperProcess, crashed: () -> Void)?
    private var statement: DecoderMessage?
    /// The picture, and both ends of the sockets to the decoding process (`data`) and to the helper that watches it
    /// (`control`); -1 for closed ones.
    private var picture: Int32 = -1, data: Int32 = -1, childData: Int32 = -1, control: Int32 = -1,
        childControl: Int32 = -1

    init(
        _ bytes: UnsafeRawBufferPointer, format: ImageFormat, limits: DecodeLimits
    ) throws(ImageError) {
        self.format = format
        self.limits = limits
        left = .seconds(limits.clockSeconds(ofPixels: 0))
        self.bytes = bytes.count
        dialogue = DecodeDialogue(format, limits: limits)
        picture = csys_memory_copy(bytes.baseAddress, bytes.count)
        guard picture >= 0 else { throw .noDecoder("there is no memory for the picture (error \(-picture))") }
        (data, childData) = try Self.pair()
        (control, childControl) = try Self.pair()
    }

    deinit {
        closeChildEnds()
        for descriptor in [data, control] where descriptor >= 0 { _ = csys_close(descriptor) }
    }

    private static func pair() throws(ImageError) -> (Int32, Int32) {
        var ends: (Int32, Int32) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &ends) { bytes in
            bytes.bindMemory(to: Int32.self).baseAddress.map { csys_socket_pair($0) } ?? -1
        }
        guard result == 0 else { throw .noDecoder("no file descriptor is left (error \(-result))") }
        return ends
    }

    /// The descriptors that are sent with a job.
    var childEnds: [Int32] { [picture, childData, childControl] }

    private func closeChildEnds() {
        for descriptor in childEnds where descriptor >= 0 { _ = csys_close(descriptor) }
        (picture, childData, childControl) = (-1, -1, -1)
    }

    /// The picture's header. It comes from an untrusted process: check it before memory is reserved.
    package var info: ImageInfo {
        ImageInfo(
            format: format, width: statement?.width ?? 0, height: statement?.height ?? 0,
            orientation: statement?.orientation ?? 1)
    }

    /// The memory in bytes that decoding needs, with the pixels and the copy of the file.
    package var memory: Int { (statement?.pixelBytes ?? 0) + bytes + (statement?.memory ?? 0) }

    /// Waits for the size of the picture.
    /// - Parameters:
    ///   - helper: the helper that has the job.
    ///   - crashed: called when the picture's process has crashed.
    func open(
        by helper: HelperProcess, isCancelled: () -> Bool, crashed: @escaping () -> Void
    ) throws(ImageError) {
        self.helper = (helper, crashed)
        closeChildEnds()
        if case .check(let stated) = try listen(isCancelled) { statement = stated }
    }

    /// Decodes the picture. The caller must have reserved ``memory`` bytes.
    package func decode(isCancelled: () -> Bool) throws(ImageError) -> PixelImage {
        guard let stated = statement, let bytes = stated.pixelBytes else { throw .noDecoder("it has no picture") }
        let pixels = csys_memory_file(bytes)
        guard pixels >= 0 else { throw .outOfMemory }
        defer { _ = csys_close(pixels) }
        let count = stated.width * stated.height, seconds = limits.seconds(ofPixels: count)
        let clock = limits.clockSeconds(ofPixels: count)
        left += .seconds(clock - limits.clockSeconds(ofPixels: 0))
        try limit(
            ccodec_allowance(
                memory: UInt64(clamping: stated.memory), shared: UInt64(clamping: self.bytes + bytes),
                seconds: UInt64(clamping: seconds)))
        dialogue.allow(bytes: bytes, seconds: seconds, clock: clock)
        var byte: UInt8 = 1
        // If the process has ended, the next line reports it.
        _ = csys_send_descriptors(data, &byte, 1, [pixels], 1)
        guard case .take(let done) = try listen(isCancelled) else { throw .noDecoder("it has no picture") }
        // After the process has ended, no process can write to the pixels.
        guard end() != nil else { throw .noDecoder("it did not end") }
        guard let memory = csys_map_file(pixels, bytes) else { throw .outOfMemory }
        return try PixelImage(
            info: ImageInfo(
                format: format, width: done.width, height: done.height, orientation: stated.orientation),
            hasAlpha: stated.hasAlpha, memory: UnsafeRawBufferPointer(start: memory, count: bytes)
        ) { csys_unmap(UnsafeMutableRawPointer(mutating: $0.baseAddress), $0.count) }
    }

    /// Limits the memory and the time of the process to the needs of decoding.
    private func limit(_ allowance: ccodec_allowance) throws(ImageError) {
        _ = withUnsafeBytes(of: allowance) { csys_send(control, $0.baseAddress, $0.count) }
        switch event() {
        case .limited?: return
        case .ended(let signal, let status)?: throw refusal(of: .ended(signal: signal, status: status))
        case nil: throw .noDecoder("it did not answer")
        }
    }

    /// Handles messages until an action is needed.
    private func listen(_ isCancelled: () -> Bool) throws(ImageError) -> DecodeDialogue.Action {
        var room = [UInt8](repeating: 0, count: MemoryLayout<ccodec_statement>.size + 1)
        let deadline = MonotonicInstant.now + left
        defer { left = deadline - .now }
        while true {
            if isCancelled() { throw refusal(of: .cancelled) }
            if MonotonicInstant.now >= deadline { throw refusal(of: .late) }
            guard csys_wait_readable(data, Self.tick) != 0 else { continue }
            let count = csys_receive(data, &room, room.count)
            let event: DecodeDialogue.Event =
                count > 0 ? .received(room[..<count].withUnsafeBytes { DecoderMessage($0) }) : .closed
            switch dialogue.take(event) {
            case .refuse(let error):
                _ = end()
                throw error
            case .awaitEnd:
                guard let ending = end(isKilled: false) else { throw .noDecoder("it was ended") }
                throw refusal(of: ending)
            case let action: return action
            }
        }
    }

    /// The interval between two checks for cancellation, in milliseconds.
    private static let tick: Int32 = 10

    /// Ends the process. Returns the error for an event that ends the dialogue.
    private func refusal(of event: DecodeDialogue.Event) -> ImageError {
        _ = end()
        guard case .refuse(let error) = dialogue.take(event) else { return .noDecoder("it has ended") }
        return error
    }

    private enum ControlEvent {
        case limited
        case ended(signal: Int32, status: Int32)
    }

    /// Ends the process, and waits for its end.
    /// - Parameter isKilled: false for a process that is ending by itself.
    /// - Returns: how it ended; nil if the helper has ended, which ends its processes.
    private func end(isKilled: Bool = true) -> DecodeDialogue.Event? {
        guard control >= 0 else { return nil }
        defer {
            _ = csys_close(control)
            control = -1
        }
        if !isKilled, case .ended(let signal, let status)? = event(Self.grace) {
            return .ended(signal: signal, status: status)
        }
        _ = csys_shutdown_write(control)
        while let event = event() {
            if case .ended(let signal, let status) = event { return .ended(signal: signal, status: status) }
        }
        return nil
    }

    /// The time in milliseconds for the end of a process that has closed its socket, and for the helper's answers.
    private static let grace: Int32 = 500, patience: Int32 = 10_000

    /// The next message of the helper; nil after a timeout, or for an invalid message.
    private func event(_ milliseconds: Int32 = ConfinedPicture.patience) -> ControlEvent? {
        var message = ccodec_event()
        guard csys_wait_readable(control, milliseconds) == 1 else { return nil }
        let count = withUnsafeMutableBytes(of: &message) { csys_receive(control, $0.baseAddress, $0.count) }
        guard count == MemoryLayout<ccodec_event>.size else { return nil }
        switch message.kind {
        case CCODEC_LIMITED.rawValue: return .limited
        case CCODEC_ENDED.rawValue:
            // The daemon sends SIGKILL, and the limit SIGXCPU.
            if message.signal != 0, message.signal != SIGKILL, message.signal != SIGXCPU { helper?.crashed() }
            return .ended(signal: message.signal, status: message.status)
        default: return nil
        }
    }
}

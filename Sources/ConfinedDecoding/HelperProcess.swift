internal import CConfinedCodecs
internal import CSystem
internal import Glibc
internal import ImagePipeline
internal import Synchronization
internal import SystemSupport

/// The helper process, which forks a process for each picture. It ends when the last reference is released.
///
/// The forked processes have its address space layout. Starting a helper costs about 35 ms of processor time, forking a
/// process less than 1 ms. So the helper is replaced by one with another layout only when a picture has crashed its
/// process, and after ``maximumJobs`` pictures.
final class HelperProcess: Sendable {
    /// The number of pictures after which it is replaced.
    static let maximumJobs = 100
    private let jobs = Atomic(0)
    private let process: Int32
    private let control: Int32
    /// The reasons why formats cannot be decoded.
    let absent: [ImageFormat: String]

    /// Starts the program. Blocks until it has opened its libraries.
    init(program: String, arguments: [String]) throws(ImageError) {
        var socket: Int32 = -1
        // The environment contains no secrets of this process, only the library path, if it is set.
        let path = getenv("LD_LIBRARY_PATH").map { "LD_LIBRARY_PATH=" + String(cString: $0) }
        let process = CStrings.with(arguments) { arguments in
            CStrings.with(["LC_ALL=C"] + (path.map { [$0] } ?? [])) { environment in
                csys_spawn_helper(program, arguments, environment, &socket)
            }
        }
        guard process > 0 else { throw .noDecoder("it cannot be started (error \(-process))") }
        var hello = [UInt8](repeating: 0, count: MemoryLayout<ccodec_hello>.size)
        let isThere = csys_wait_readable(socket, Self.patience) == 1
        let count = isThere ? csys_read(socket, &hello, hello.count) : 0
        guard count == hello.count else {
            Self.end(process, socket)
            throw .noDecoder(isThere ? "it ended when it was started" : "it did not start in time")
        }
        self.process = process
        control = socket
        var absent: [ImageFormat: String] = [:]
        for format in ImageFormat.allCases {
            guard let number = format.number else { continue }
            let length = Int(CCODEC_REASON)
            let reason = hello.withUnsafeBytes {
                DecoderMessage.text(UnsafeRawBufferPointer(rebasing: $0[number * length..<(number + 1) * length]))
            }
            if !reason.isEmpty { absent[format] = reason }
        }
        self.absent = absent
    }

    deinit { Self.end(process, control) }

    /// The time limit of the start, in milliseconds: on a busy machine, opening the libraries of the engine and the
    /// codecs takes some time.
    private static let patience: Int32 = 30_000

    private static func end(_ process: Int32, _ socket: Int32) {
        _ = csys_close(socket)
        _ = csys_kill_group(process)
        var signal: Int32 = 0, status: Int32 = 0
        _ = csys_wait_child(process, &signal, &status)
    }

    /// Sends a job.
    /// - Parameter isLast: called if another helper must take the jobs after this one.
    /// - Returns: false if the helper has ended.
    func submit(_ job: ccodec_job, _ descriptors: [Int32], isLast: () -> Void) -> Bool {
        if jobs.add(1, ordering: .relaxed).newValue == Self.maximumJobs { isLast() }
        return withUnsafeBytes(of: job) { bytes in
            csys_send_descriptors(control, bytes.baseAddress, bytes.count, descriptors, Int32(descriptors.count)) == 0
        }
    }
}

extension ImageFormat {
    /// The number of the format in messages; nil for formats that are decoded in this process.
    var number: Int? {
        switch self {
        case .jpeg, .png, .webp, .pbm, .pgm, .ppm, .pam, .raw: nil
        case .heic: Int(CCODEC_HEIC.rawValue)
        case .avif: Int(CCODEC_AVIF.rawValue)
        case .tiff: Int(CCODEC_TIFF.rawValue)
        case .gif: Int(CCODEC_GIF.rawValue)
        case .bmp: Int(CCODEC_BMP.rawValue)
        case .jxl: Int(CCODEC_JXL.rawValue)
        }
    }
}

/// Writes rows of pixels, as stored, to their positions in the tensor. Addresses implement orientation, layout and
/// channel order; a table implements the element type.
struct TensorWriter {
    private let tables: ElementTables
    /// The faster way to write a row; nil if pixels are not consecutive, or if no faster way exists.
    private let packing: RowPacking?
    private let destination: UnsafeMutableRawPointer
    /// The number of channels of the tensor.
    private let channels: Int
    private let elementBytes: Int
    /// Offsets in bytes: of the first stored pixel, and to the next stored pixel, row and channel.
    private let origin: Int
    private let pixelStep: Int
    private let rowStep: Int
    private let channelStep: Int
    private let isBGR: Bool
    private let rowPixels: Int

    /// `destination` has `spec.byteCount` bytes, and the framing's outputs lie within the tensor; so do all addresses
    /// computed here.
    init(
        spec: ImageTensorSpec, tables: ElementTables, packing: RowPacking?, framing: Framing, orientation: Orientation,
        destination: UnsafeMutableRawPointer
    ) {
        self.tables = tables
        self.destination = destination
        channels = spec.channels
        elementBytes = spec.element.byteCount
        isBGR = spec.channelOrder == .bgr
        let isPlanar = spec.layout == .nchw
        let x = (isPlanar ? 1 : channels) * elementBytes
        let y = x * spec.width
        channelStep = (isPlanar ? spec.width * spec.height : 1) * elementBytes

        let across = orientation.transposes ? y : x
        let down = orientation.transposes ? x : y
        let storedX = orientation.transposes ? framing.y.outputs.count : framing.x.outputs.count
        let storedY = orientation.transposes ? framing.x.outputs.count : framing.y.outputs.count
        rowPixels = storedX
        pixelStep = orientation.flipsX ? -across : across
        self.packing = pixelStep == x && !orientation.transposes ? packing : nil
        rowStep = orientation.flipsY ? -down : down
        var origin = framing.x.destination * x + framing.y.destination * y
        if orientation.flipsX { origin += (storedX - 1) * across }
        if orientation.flipsY { origin += (storedY - 1) * down }
        self.origin = origin
    }

    /// Writes row `index` of outputs, as stored, with 1 or 4 bytes per pixel.
    func write(_ row: UnsafePointer<UInt8>, index: Int, sourceChannels: Int) {
        let start = destination + origin + index * rowStep
        var written = 0
        if let packing, sourceChannels == 4 {
            written = packing.write(row, count: rowPixels, to: start, channelStep: channelStep)
        }
        switch tables {
        case .one(let table): scatter(row, start, table, sourceChannels, written)
        case .two(let table): scatter(row, start, table, sourceChannels, written)
        case .four(let table): scatter(row, start, table, sourceChannels, written)
        }
    }

    /// Fills the whole tensor with a colour.
    static func fill(_ destination: UnsafeMutableRawPointer, spec: ImageTensorSpec, tables: ElementTables) {
        let color = spec.fill
        let levels =
            spec.channelOrder == .gray
            ? [color.luma]
            : spec.channelOrder == .rgb
                ? [color.red, color.green, color.blue] : [color.blue, color.green, color.red]
        switch tables {
        case .one(let table): fill(destination, spec, table, levels)
        case .two(let table): fill(destination, spec, table, levels)
        case .four(let table): fill(destination, spec, table, levels)
        }
    }

    private static func fill<Bits>(
        _ destination: UnsafeMutableRawPointer, _ spec: ImageTensorSpec, _ table: ElementTable<Bits>, _ levels: [UInt8]
    ) {
        let size = MemoryLayout<Bits>.size
        let pixels = spec.width * spec.height
        for (channel, level) in levels.enumerated() {
            let bits = table.bits[channel * 256 + Int(level)]
            let step = spec.layout == .nchw ? size : size * levels.count
            var offset = channel * (spec.layout == .nchw ? pixels * size : size)
            for _ in 0..<pixels {
                destination.storeBytes(of: bits, toByteOffset: offset, as: Bits.self)
                offset += step
            }
        }
    }

    @inline(__always)
    private func scatter<Bits>(
        _ row: UnsafePointer<UInt8>, _ start: UnsafeMutableRawPointer, _ table: ElementTable<Bits>,
        _ sourceChannels: Int, _ written: Int
    ) {
        table.bits.withUnsafeBufferPointer { bits in
            // The table has 256 entries for each channel of the tensor, one for each level.
            guard let bits = bits.baseAddress else { return }
            if channels == 1 {
                var address = start
                for index in 0..<rowPixels {
                    address.storeBytes(of: bits[Int(row[index])], as: Bits.self)
                    address += pixelStep
                }
                return
            }
            let first = sourceChannels == 1 ? 0 : isBGR ? 2 : 0
            let second = sourceChannels == 1 ? 0 : 1
            let third = sourceChannels == 1 ? 0 : isBGR ? 0 : 2
            var pixel = row + written &* sourceChannels
            var address = start + written &* pixelStep
            for _ in written..<rowPixels {
                address.storeBytes(of: bits[Int(pixel[first])], as: Bits.self)
                (address + channelStep).storeBytes(of: bits[256 &+ Int(pixel[second])], as: Bits.self)
                (address + 2 &* channelStep).storeBytes(of: bits[512 &+ Int(pixel[third])], as: Bits.self)
                address += pixelStep
                pixel += sourceChannels
            }
        }
    }
}

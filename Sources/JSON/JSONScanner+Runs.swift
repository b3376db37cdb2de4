extension JSONScanner {
    /// The fast path for `, number, number, …`: nearly all numbers of a large tensor take it. Appends the results of
    /// `convert`. Stops before the comma of anything else (long numbers, other values, errors, the last bytes of the
    /// text), which the slow path reads.
    /// - Parameter maximum: the maximum number of elements in all.
    /// - Returns: the number of elements read.
    @inlinable @inline(__always)
    mutating func run<Element>(
        into elements: inout [Element], maximum: Int, _ convert: (JSONNumber) -> Element?
    ) -> Int {
        guard let base = text.baseAddress else { return 0 }
        // Eight-byte words are read below, which must not extend beyond the end.
        let last = text.count - 48
        var place = position, count = 0
        while place < last, elements.count < maximum {
            var next = place
            while next < last, base.byte(next) <= 0x20 { next &+= 1 }
            guard base.byte(next) == UInt8(ascii: ",") else { break }
            next &+= 1
            while next < last, base.byte(next) <= 0x20 { next &+= 1 }
            guard next < last, let number = JSONNumber(usual: base, at: next), let element = convert(number) else {
                break
            }
            elements.append(element)
            count &+= 1
            place = next &+ number.length
        }
        advance(by: place &- position)
        return count
    }
}

extension UnsafeRawPointer {
    @inlinable @inline(__always)
    func byte(_ offset: Int) -> UInt8 { load(fromByteOffset: offset, as: UInt8.self) }

    /// Eight bytes, little-endian.
    @inlinable @inline(__always)
    func word(_ offset: Int) -> UInt64 {
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

extension JSONNumber {
    /// A number of at most 18 digits with an exponent of at most two; nil for others. The 48 bytes from `start` on must
    /// be readable.
    @inlinable @inline(__always)
    init?(usual base: UnsafeRawPointer, at start: Int) {
        self.init()
        var place = start
        if base.byte(place) == UInt8(ascii: "-") {
            isNegative = true
            place &+= 1
        }
        let first = place
        var mantissa: UInt64 = 0
        while case let digit = base.byte(place) &- 0x30, digit < 10, place &- first < 9 {
            mantissa = mantissa &* 10 &+ UInt64(digit)
            place &+= 1
        }
        let whole = place &- first
        // No digits, too many for this path, or a leading zero.
        guard whole > 0, whole < 9, whole == 1 || base.byte(first) != UInt8(ascii: "0") else { return nil }
        if base.byte(place) == UInt8(ascii: ".") {
            isInteger = false
            place &+= 1
            let fraction = place
            let maximum = mantissa == 0 ? 19 : 19 &- whole
            while place &- fraction <= maximum &- 8, let eight = Self.eightDigits(base.word(place)) {
                mantissa = mantissa &* 100_000_000 &+ eight
                place &+= 8
            }
            while case let digit = base.byte(place) &- 0x30, digit < 10 {
                guard place &- fraction < maximum else { return nil }
                mantissa = mantissa &* 10 &+ UInt64(digit)
                place &+= 1
            }
            guard place > fraction else { return nil }
            exponent = fraction &- place
        }
        if base.byte(place) | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            place &+= 1
            let sign = base.byte(place)
            if sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { place &+= 1 }
            let tens = base.byte(place) &- 0x30, ones = base.byte(place &+ 1) &- 0x30
            guard tens < 10, ones < 10 else { return nil }
            let power = Int(tens) &* 10 &+ Int(ones)
            exponent = sign == UInt8(ascii: "-") ? exponent &- power : exponent &+ power
            place &+= 2
        }
        // The next byte must end the number; otherwise the slow path reports the error.
        switch base.byte(place) {
        case UInt8(ascii: ","), UInt8(ascii: "]"), 0x20, 0x0A, 0x0D, 0x09: break
        default: return nil
        }
        self.mantissa = mantissa
        self.start = start
        length = place &- start
    }

    /// The value of eight digits in a little-endian word; nil if a byte is not a digit. Multiplications combine pairs,
    /// then groups of four, then all digits.
    @inlinable @inline(__always)
    static func eightDigits(_ word: UInt64) -> UInt64? {
        let high: UInt64 = 0xF0F0_F0F0_F0F0_F0F0
        guard word & high | ((word &+ 0x0606_0606_0606_0606) & high) >> 4 == 0x3333_3333_3333_3333 else { return nil }
        let digits = word &- 0x3030_3030_3030_3030
        let pairs = digits &* 10 &+ digits >> 8
        let mask: UInt64 = 0x0000_00FF_0000_00FF
        return ((pairs & mask) &* 0x000F_4240_0000_0064 &+ (pairs >> 16 & mask) &* 0x0000_2710_0000_0001) >> 32
    }
}

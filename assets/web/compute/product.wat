;; The product of two matrices, y = x wᵀ + bias, four rows of x and two of w at a time, four floats of each in a step.
;; `make scripts` compiles it into kernel.js twice: as it is, and with a fused multiplication and addition.
;; Sizes are numbers of floats; addresses and strides are bytes. `depth` is a multiple of 4.
(module
  (import "headlight" "memory" (memory 1))

  ;; The address of a row of a matrix. Behind the last row it is that of the last one again, which is then computed
  ;; twice and stored in the same place: so no block is smaller than the others.
  (func $row (param $matrix i32) (param $index i32) (param $rows i32) (param $stride i32) (result i32)
    (local $last i32)
    (local.set $last (i32.sub (local.get $rows) (i32.const 1)))
    (i32.add
      (local.get $matrix)
      (i32.mul
        (local.get $stride)
        (select (local.get $index) (local.get $last) (i32.lt_u (local.get $index) (local.get $last))))))

  ;; The sum of the four floats in a vector.
  (func $sum (param $four v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $four)) (f32x4.extract_lane 1 (local.get $four)))
      (f32.add (f32x4.extract_lane 2 (local.get $four)) (f32x4.extract_lane 3 (local.get $four)))))

  (func (export "product")
    (param $x i32) (param $w i32) (param $bias i32) (param $y i32)
    (param $rows i32) (param $columns i32) (param $depth i32)
    (param $xStride i32) (param $wStride i32) (param $yStride i32)
    (local $column i32) (local $index i32) (local $k i32) (local $bytes i32) (local $step i32)
    (local $w0 i32) (local $w1 i32) (local $x0 i32) (local $x1 i32) (local $x2 i32) (local $x3 i32)
    (local $y0 i32) (local $y1 i32) (local $bias0 f32) (local $bias1 f32) (local $u v128) (local $v v128) (local $z v128)
    (local $a0 v128) (local $a1 v128) (local $a2 v128) (local $a3 v128)
    (local $b0 v128) (local $b1 v128) (local $b2 v128) (local $b3 v128)
    (local.set $bytes (i32.shl (local.get $depth) (i32.const 2)))
    (loop $columns
      ;; two rows of w, which make two columns of y
      (local.set $w0 (call $row (local.get $w) (local.get $column) (local.get $columns) (local.get $wStride)))
      (local.set $y0 (call $row (local.get $y) (local.get $column) (local.get $columns) (i32.const 4)))
      (local.set $index (i32.add (local.get $column) (i32.const 1)))
      (local.set $w1 (call $row (local.get $w) (local.get $index) (local.get $columns) (local.get $wStride)))
      (local.set $y1 (call $row (local.get $y) (local.get $index) (local.get $columns) (i32.const 4)))
      (if (local.get $bias)
        (then
          (local.set $bias0
            (f32.load (call $row (local.get $bias) (local.get $column) (local.get $columns) (i32.const 4))))
          (local.set $bias1
            (f32.load (call $row (local.get $bias) (local.get $index) (local.get $columns) (i32.const 4))))))
      (local.set $index (i32.const 0))
      (loop $blocks
        (local.set $x0 (call $row (local.get $x) (local.get $index) (local.get $rows) (local.get $xStride)))
        (local.set $x1
          (call $row (local.get $x) (i32.add (local.get $index) (i32.const 1)) (local.get $rows) (local.get $xStride)))
        (local.set $x2
          (call $row (local.get $x) (i32.add (local.get $index) (i32.const 2)) (local.get $rows) (local.get $xStride)))
        (local.set $x3
          (call $row (local.get $x) (i32.add (local.get $index) (i32.const 3)) (local.get $rows) (local.get $xStride)))
        (local.set $a0 (v128.const f32x4 0 0 0 0)) (local.set $b0 (v128.const f32x4 0 0 0 0))
        (local.set $a1 (v128.const f32x4 0 0 0 0)) (local.set $b1 (v128.const f32x4 0 0 0 0))
        (local.set $a2 (v128.const f32x4 0 0 0 0)) (local.set $b2 (v128.const f32x4 0 0 0 0))
        (local.set $a3 (v128.const f32x4 0 0 0 0)) (local.set $b3 (v128.const f32x4 0 0 0 0))
        (local.set $k (i32.const 0))
        (loop $depth
          (local.set $u (v128.load (i32.add (local.get $w0) (local.get $k))))
          (local.set $v (v128.load (i32.add (local.get $w1) (local.get $k))))
          (local.set $z (v128.load (i32.add (local.get $x0) (local.get $k))))
          (local.set $a0 (f32x4.add (f32x4.mul (local.get $z) (local.get $u)) (local.get $a0)))
          (local.set $b0 (f32x4.add (f32x4.mul (local.get $z) (local.get $v)) (local.get $b0)))
          (local.set $z (v128.load (i32.add (local.get $x1) (local.get $k))))
          (local.set $a1 (f32x4.add (f32x4.mul (local.get $z) (local.get $u)) (local.get $a1)))
          (local.set $b1 (f32x4.add (f32x4.mul (local.get $z) (local.get $v)) (local.get $b1)))
          (local.set $z (v128.load (i32.add (local.get $x2) (local.get $k))))
          (local.set $a2 (f32x4.add (f32x4.mul (local.get $z) (local.get $u)) (local.get $a2)))
          (local.set $b2 (f32x4.add (f32x4.mul (local.get $z) (local.get $v)) (local.get $b2)))
          (local.set $z (v128.load (i32.add (local.get $x3) (local.get $k))))
          (local.set $a3 (f32x4.add (f32x4.mul (local.get $z) (local.get $u)) (local.get $a3)))
          (local.set $b3 (f32x4.add (f32x4.mul (local.get $z) (local.get $v)) (local.get $b3)))
          (local.set $k (i32.add (local.get $k) (i32.const 16)))
          (br_if $depth (i32.lt_u (local.get $k) (local.get $bytes))))
        (local.set $step (call $row (i32.const 0) (local.get $index) (local.get $rows) (local.get $yStride)))
        (f32.store (i32.add (local.get $y0) (local.get $step)) (f32.add (call $sum (local.get $a0)) (local.get $bias0)))
        (f32.store (i32.add (local.get $y1) (local.get $step)) (f32.add (call $sum (local.get $b0)) (local.get $bias1)))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (local.set $step (call $row (i32.const 0) (local.get $index) (local.get $rows) (local.get $yStride)))
        (f32.store (i32.add (local.get $y0) (local.get $step)) (f32.add (call $sum (local.get $a1)) (local.get $bias0)))
        (f32.store (i32.add (local.get $y1) (local.get $step)) (f32.add (call $sum (local.get $b1)) (local.get $bias1)))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (local.set $step (call $row (i32.const 0) (local.get $index) (local.get $rows) (local.get $yStride)))
        (f32.store (i32.add (local.get $y0) (local.get $step)) (f32.add (call $sum (local.get $a2)) (local.get $bias0)))
        (f32.store (i32.add (local.get $y1) (local.get $step)) (f32.add (call $sum (local.get $b2)) (local.get $bias1)))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (local.set $step (call $row (i32.const 0) (local.get $index) (local.get $rows) (local.get $yStride)))
        (f32.store (i32.add (local.get $y0) (local.get $step)) (f32.add (call $sum (local.get $a3)) (local.get $bias0)))
        (f32.store (i32.add (local.get $y1) (local.get $step)) (f32.add (call $sum (local.get $b3)) (local.get $bias1)))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br_if $blocks (i32.lt_u (local.get $index) (local.get $rows))))
      (local.set $column (i32.add (local.get $column) (i32.const 2)))
      (br_if $columns (i32.lt_u (local.get $column) (local.get $columns))))))

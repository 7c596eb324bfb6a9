// octet_packer loses, adds and moves no octet: the proof checks one arbitrary octet of a packet, and the packet's length.
// Words are complete except for the last word of a packet, and octets after the end are zero.
`default_nettype none

module octet_packer_properties #(
    parameter W = 32,
    parameter BYTES = W / 8,
    parameter COUNT_W = $clog2(BYTES) + 1
) (
    input wire clk,
    input wire reset,
    input wire enable,
    input wire [W-1:0] in_word,
    input wire [COUNT_W-1:0] in_octets,
    input wire in_final
);

  wire out_valid, out_last;
  wire [W-1:0] out_word;
  wire [BYTES-1:0] out_keep;

  octet_packer #(
      .W(W)
  ) dut (
      .clk(clk),
      .reset(reset),
      .enable(enable),
      .in_word(in_word),
      .in_octets(in_octets),
      .in_final(in_final),
      .out_valid(out_valid),
      .out_word(out_word),
      .out_keep(out_keep),
      .out_last(out_last)
  );

  // One packet after the reset is checked: number `packet`.
  (* anyconst *) wire [4:0] at;  // of the octet
  (* anyconst *) wire [1:0] packet;

  reg began, was_final;
  reg [1:0] packets_in, packets_out;
  reg [4:0] octets_in, octets_out, length;  // of the current packet; of the checked packet
  reg has_octet, has_length;
  reg [7:0] octet;
  initial began = 1'b0;

  integer k;
  reg [7:0] in_at, out_at;
  reg [COUNT_W-1:0] out_octets;
  always @* begin
    in_at = 8'd0;
    out_at = 8'd0;
    out_octets = {COUNT_W{1'b0}};
    for (k = 0; k < BYTES; k = k + 1) begin
      if (octets_in + k == at) in_at = in_word[8*k+:8];
      if (octets_out + k == at) out_at = out_word[8*k+:8];
      out_octets = out_octets + out_keep[k];
    end
  end

  wire in_valid = in_octets != 0;
  wire takes = enable && in_valid;
  wire gives = enable && out_valid;

  always @(posedge clk) begin
    began <= 1'b1;
    if (enable) was_final <= in_valid && in_final;
    if (takes) begin
      octets_in <= in_final ? 5'd0 : octets_in + in_octets;
      if (packets_in == packet) begin
        if (at >= octets_in && at < octets_in + in_octets) {has_octet, octet} <= {1'b1, in_at};
        if (in_final) {has_length, length} <= {1'b1, octets_in + in_octets};
      end
      if (in_final) packets_in <= packets_in + 2'd1;
    end
    if (gives) begin
      octets_out <= out_last ? 5'd0 : octets_out + out_octets;
      if (out_last) packets_out <= packets_out + 2'd1;
    end
    if (reset) begin
      {was_final, has_octet, has_length} <= 3'b000;
      {packets_in, packets_out, octets_in, octets_out} <= 0;
    end
  end

  always @* begin
    if (!began) assume (reset);
    assume (in_octets <= BYTES);
    if (!in_valid) assume (!in_final);
    if (was_final) assume (!in_valid);
    // The counters of octets and packets do not overflow.
    if (in_valid) assume (octets_in < 5'd24 && packets_in != 2'd3);
    if (began && !reset && out_valid) begin
      assert (out_keep != 0 && (out_keep & (out_keep + 1'b1)) == 0);
      assert (out_last || &out_keep);
      for (k = 0; k < BYTES; k = k + 1) assert (out_keep[k] || out_word[8*k+:8] == 8'd0);
      if (packets_out == packet) begin
        if (at >= octets_out && at < octets_out + out_octets) assert (has_octet && out_at == octet);
        if (out_last) assert (has_length && octets_out + out_octets == length);
      end
      assert (packets_out != packets_in || !out_last);
    end
  end

endmodule

`default_nettype wire

// Key expansion of AES-128 and AES-256 (FIPS 197, 5.2): one octet per eight cycles, with one S-box.
//
// The key's octets come first. Every further octet of the schedule is computed from earlier octets. Each sixteen octets
// are a round key. The schedule has 176 octets for AES-128 and 240 for AES-256.
`default_nettype none

module aes_key_expand (
    input wire clk,
    input wire reset,

    input  wire       start,     // the first octet of a key comes with the next `octet_valid`
    input  wire       long,      // with start: the key has 32 octets, not 16
    input  wire       octet_valid,
    output wire       octet_ready,
    input  wire [7:0] octet,

    output wire         busy,
    output reg          made,     // for one cycle: there is a new octet; until the next one:
    output reg  [  7:0] made_at,  // its number in the schedule, from 0,
    output wire [127:0] row       // and the last sixteen octets
);

  // The last 32 octets, the newest in the top bits.
  reg [255:0] window;
  assign row = window[255:128];

  reg [7:0] at;  // octets so far
  reg is_long, running;
  reg [7:0] rcon;

  reg in_key;  // the next octet belongs to the key itself
  assign busy = running;

  // Number of the octet's word, modulo the words of the key.
  wire [2:0] word = is_long ? at[4:2] : {1'b0, at[3:2]};
  wire rotates = word == 3'd0;
  wire substitutes = rotates || (is_long && word == 3'd4);

  // Octet k of the previous word, or octet k + 1 if the word is rotated.
  wire [7:0] same = window[8*28+:8];
  wire [7:0] next = at[1:0] == 2'd3 ? window[8*25+:8] : window[8*29+:8];
  reg [7:0] taken;
  wire [7:0] substitute;
  reg [7:0] substituted;

  aes_sbox_slow sbox (
      .clk(clk),
      .octet(taken),
      .substitute(substitute)
  );

  wire [7:0] ahead = is_long ? window[7:0] : window[8*16+:8];  // the octet one key length before
  reg has_constant;  // the octet is the first of a rotated word
  reg [7:0] derived;

  reg [2:0] cycle;  // cycle of the octet: taken, in the S-box's registers, derived
  reg ends_key, ends;  // the octet is the last of the key, of the schedule
  reg due;  // the octet has passed the S-box
  wire may_step = due && (!in_key || octet_valid);
  reg step;
  assign octet_ready = step && in_key;

  always @(posedge clk) begin
    taken <= rotates ? next : same;
    substituted <= substitutes ? substitute : taken;
    has_constant <= rotates && at[1:0] == 2'd0;
    derived <= ahead ^ substituted ^ (has_constant ? rcon : 8'd0);
    cycle <= step ? 3'd0 : cycle == 3'd5 ? 3'd5 : cycle + 3'd1;
    due <= running && !may_step && !step && cycle == 3'd5;
    step <= may_step;
    ends_key <= at == (is_long ? 8'd31 : 8'd15);
    ends <= at == (is_long ? 8'd239 : 8'd175);
    made <= step;
    if (step) begin
      made_at <= at;
      window <= {in_key ? octet : derived, window[255:8]};
      at <= at + 8'd1;
      if (!in_key && has_constant) rcon <= {rcon[6:0], 1'b0} ^ (rcon[7] ? 8'h1b : 8'h00);
      if (ends_key) in_key <= 1'b0;
      if (ends) running <= 1'b0;
    end
    if (start) begin
      running <= 1'b1;
      is_long <= long;
      in_key <= 1'b1;
      {due, step, made} <= 3'b000;
      at <= 8'd0;
      rcon <= 8'h01;
      cycle <= 3'd0;
    end
    if (reset) begin
      running <= 1'b0;
      {due, step} <= 2'b00;
      made <= 1'b0;
    end
  end

endmodule

`default_nettype wire
